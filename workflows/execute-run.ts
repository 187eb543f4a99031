import {
  ApplicationFailure,
  CancellationScope,
  condition,
  defineSignal,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { RunActivities } from '../activities/runs.ts';
import { type ExecuteRunArgs, runMessages } from '../src/temporal/contracts/automation.ts';
import { withSentence } from '../src/temporal/contracts/failure-sentences.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import { callingWork, instantWork, orElse, toolWork } from './activity-calls.ts';

const local = proxyLocalActivities<RunActivities>(instantWork);

type RunProgress = Awaited<ReturnType<RunActivities['callStep']>>;

const proceed = defineSignal(runMessages.proceed);

/** After this long a run that waits checks by itself whether it has a slot. */
const patience = '15 minutes';

/** Returns a function that waits until the run is signalled that it has a slot to call out. */
function waitForSlot(): () => Promise<void> {
  let isWoken = false;
  const wake = () => {
    isWoken = true;
  };
  setHandler(proceed, wake, { description: 'Check again whether this run has a slot' });
  return async () => {
    setCurrentDetails('Waits for a slot: as many runs of the organization call out as its plan allows.');
    await condition(() => isWoken, patience);
    isWoken = false;
    setCurrentDetails('');
  };
}

/**
 * One run. The activities that execute and record the steps decide which step is next, because they have the outputs.
 * This workflow decides where they run: in a local activity while steps answer at once, in an activity with heartbeats
 * when a step calls out. That activity continues with the steps after it, and hands back the calls of tools that a
 * model asks for: they run one by one, where the tools are. If the run fails this workflow fails too, so that operators
 * find it among the failed ones.
 */
export async function executeRun({ begin, policy, ...context }: ExecuteRunArgs): Promise<void> {
  const { continueForMs = 0, retry } = policy.modelCall;
  const called = proxyActivities<RunActivities>(callingWork(policy, continueForMs));
  const tools = toolWork(policy);
  const walk = () => orElse(local.walkSteps(context), () => called.walkSteps(context));
  const call = ({ position, stepId }: { position: number; stepId?: string }) =>
    called.callStep.executeWithOptions({ ...(stepId && { summary: stepId }) }, [
      { ...context, position, maxAttempts: retry.maximumAttempts, continueForMs },
    ]);
  const nextSlot = waitForSlot();
  const { runId, organizationId, environment, correlationId } = context;
  const ref = { runId, organizationId, environment, correlationId };
  const useTools = async ({ position, stepId, round, calls }: Extract<RunProgress, { kind: 'tools' }>) => {
    const options = { summary: stepId };
    if (round === 0) {
      setCurrentDetails(`The step \`${stepId}\` lists the tools of its servers.`);
      const asked = { ...ref, position, maxAttempts: retry.maximumAttempts };
      while ((await tools.offerStepTools.executeWithOptions(options, [asked])).kind === 'wait') await nextSlot();
    }
    for (const [done, call] of calls.entries()) {
      const count = `${done + 1} of ${calls.length}`;
      setCurrentDetails(`The step \`${stepId}\` calls a tool, ${count} in round ${round}.`);
      const asked = { ...ref, position, round, call };
      while ((await tools.callStepTool.executeWithOptions(options, [asked])).kind === 'wait') await nextSlot();
    }
    setCurrentDetails('');
  };
  try {
    let progress: RunProgress | ExecuteRunArgs['begin'] = begin;
    while (progress.kind !== 'ended' && progress.kind !== 'gone') {
      if (progress.kind === 'wait') await nextSlot();
      if (progress.kind === 'tools') await useTools(progress);
      progress = progress.kind === 'walk' ? await walk() : await call(progress);
    }
    if (progress.kind === 'ended' && progress.status === 'failed') {
      const { stepId, code } = progress;
      setCurrentDetails(`Failed at the step \`${stepId}\`: ${withSentence(code)}`);
      const details = { runId: context.runId, stepId, code };
      throw ApplicationFailure.nonRetryable(
        `Step ${stepId} failed: ${withSentence(code)}`,
        failureTypes.runFailed,
        details,
      );
    }
  } catch (failure) {
    // Usually the run is recorded as cancelled already, but not when an operator cancelled this workflow in Temporal.
    if (isCancellation(failure)) await CancellationScope.nonCancellable(() => called.recordCancelled(context));
    throw failure;
  }
}
