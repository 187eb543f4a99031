import { z } from '@hono/zod-openapi';
import { openApprovalsOf } from '../../../../src/automation/approvals/approvals.ts';
import { respond } from '../../../../src/automation/approvals/respond.ts';
import type { ApprovalView } from '../../../../src/automation/approvals/views.ts';
import { maxCommentLength } from '../../../../src/automation/core/approvals.ts';
import { approvalIds } from '../../../../src/automation/core/ids.ts';
import { cancelRun } from '../../../../src/automation/runs/cancel-run.ts';
import { getRun, type RunDetail } from '../../../../src/automation/runs/runs.ts';
import { AppError, invalid } from '../../../../src/platform/errors.ts';
import { keyName } from '../../../../src/tenancy/key-name.ts';
import { text } from '../../../schemas/text.ts';
import { type Exchange, requireScope, type TaskHandle } from '../tool.ts';
import { answerOf, elicitationOf } from './elicitation.ts';
import { resultOfRun } from './run-result.ts';

/** How often a client polls a task. */
const pollIntervalMs = 1_000;

const words: Record<RunDetail['status'], string> = {
  queued: 'The run waits to begin.',
  running: 'The run executes.',
  completed: 'The run has completed.',
  failed: 'The run has failed.',
  cancelled: 'The run was cancelled.',
};

function saysOf({ status, waitingFor, currentStep }: RunDetail): string {
  const waits = (waitingFor ?? []).map(({ type, stepId }) => `The step ${stepId} waits (${type}).`);
  if (waits.length > 0) return waits.join(' ');
  return status === 'running' && currentStep !== null ? `The step ${currentStep} executes.` : words[status];
}

/** What every answer about a task says. A task is a run; it is kept as long as its run. */
const shownTask = (run: RunDetail) => ({
  taskId: run.id,
  statusMessage: saysOf(run),
  createdAt: run.createdAt.toISOString(),
  lastUpdatedAt: (
    run.finishedAt ??
    run.stepResults.reduce<Date | null>((last, { startedAt, finishedAt }) => {
      const changed = finishedAt ?? startedAt;
      return last && last >= changed ? last : changed;
    }, run.startedAt) ??
    run.createdAt
  ).toISOString(),
  ttlMs: null,
  pollIntervalMs,
});

const hasEnded = ({ status }: RunDetail) => status !== 'queued' && status !== 'running';

/** The handle of a run that was just created. */
export const handleOf = (run: RunDetail): TaskHandle => ({
  resultType: 'task',
  status: 'working',
  ...shownTask(run),
});

/** The task of a run, in the words of the tasks extension. @throws AppError run_not_found, forbidden */
export async function getTask(exchange: Exchange, taskId: string): Promise<Record<string, unknown>> {
  const { services, scope, caller } = exchange;
  // A caller that may start runs may read their results.
  if (!caller.scopes.includes('runs:execute')) requireScope(exchange, 'runs:read');
  const run = await getRun(scope, taskId);
  const task = shownTask(run);
  if (run.status === 'cancelled') return { ...task, status: 'cancelled' };
  if (hasEnded(run)) {
    const result = await resultOfRun(services, scope, run, null);
    return { ...task, status: 'completed', result: { resultType: 'complete', ...result } };
  }
  const open = run.status === 'running' ? await openApprovalsOf(scope, run.id) : [];
  if (open.length === 0) return { ...task, status: 'working' };
  const asked = open.map((view) => [approvalIds.format(view.approvalId), elicitationOf(view)]);
  return { ...task, status: 'input_required', inputRequests: Object.fromEntries(asked) };
}

const content = z.object({ action: z.string().max(64), comment: text(maxCommentLength).optional() }).loose();

/** Who answers, as the answer of an approval names it. */
export const respondedBy = async ({ services, caller }: Exchange): Promise<string> =>
  `key:${await keyName(services.database, caller.keyId!)}`;

async function answer(exchange: Exchange, view: ApprovalView, key: string, given: unknown): Promise<void> {
  const read = content.safeParse(given);
  if (!read.success) {
    const message = 'Expected an object with the id of an action in `action`.';
    throw invalid([{ path: `inputResponses.${key}.content`, message }]);
  }
  const { services, scope } = exchange;
  const by = { respondedBy: await respondedBy(exchange), channel: 'mcp' as const };
  await respond(services, scope, view.approvalId, { ...answerOf(view, read.data), ...by }).catch((error: unknown) => {
    // Another answer was first and is valid.
    if (!(error instanceof AppError) || error.kind !== 'conflict') throw error;
  });
}

/**
 * Answers approvals of a run. `decline` and `cancel` leave them open, and answers to anything that is not open are ignored.
 * @throws AppError run_not_found, forbidden; validation_error for values that do not fit the form
 */
export async function updateTask(
  exchange: Exchange,
  taskId: string,
  responses: Record<string, unknown>,
): Promise<void> {
  requireScope(exchange, 'runs:execute');
  const { id } = await getRun(exchange.scope, taskId);
  for (const view of await openApprovalsOf(exchange.scope, id)) {
    const key = approvalIds.format(view.approvalId);
    const given = Object.hasOwn(responses, key) ? (responses[key] as { action?: unknown; content?: unknown }) : null;
    if (given?.action === 'accept') await answer(exchange, view, key, given.content);
  }
}

/** @throws AppError run_not_found, forbidden */
export async function cancelTask(exchange: Exchange, taskId: string): Promise<void> {
  requireScope(exchange, 'runs:execute');
  await cancelRun(exchange.services, exchange.scope, taskId);
}
