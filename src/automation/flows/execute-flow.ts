import type { Scope } from '../../platform/database/scope.ts';
import type { FlowProgress } from '../core/flow-progress.ts';
import type { RunRef, RunServices } from '../runs/run-execution.ts';
import { takeSlotBack } from '../starts/lent-slots.ts';
import { sandboxed } from '../test-runs/test-runs.ts';
import type { FlowServices } from './call-leaf.ts';
import { type DriveOptions, FlowDrive } from './flow-drive.ts';
import { FlowExecution } from './flow-execution.ts';

/** Executes a flow as far as the options let it. A recorded step is not executed again. */
export async function executeFlow(
  services: FlowServices,
  scope: Scope,
  ref: RunRef,
  options: DriveOptions,
): Promise<FlowProgress> {
  const run = await FlowExecution.load(services, scope, ref);
  if (!run) return { kind: 'gone' };
  const { slot, concurrencyGroup: group } = run.work;
  const hasLent = slot === 'lent' || slot === 'returning';
  if (hasLent && group && !(await takeSlotBack(scope, ref.runId, group))) return { kind: 'slot' };
  const used = run.work.mocks ? sandboxed(services) : services;
  return new FlowDrive(used, scope, run, options).execute();
}

/** Ends a flow that cannot continue, with a message that does not reveal the cause. */
export async function failFlow(services: RunServices, scope: Scope, ref: RunRef): Promise<FlowProgress> {
  const run = await FlowExecution.load(services, scope, ref);
  if (!run) return { kind: 'gone' };
  const begun = run.work.recorded.find(({ status }) => status === 'running');
  const stepId = begun && run.stepAt(begun.path).id;
  const error = { message: 'Something went wrong on our side.', code: 'internal_error' as const };
  await run.record(false, { status: 'failed', error: stepId === undefined ? error : { ...error, stepId } });
  return { kind: 'ended', status: 'failed', stepId, code: error.code };
}
