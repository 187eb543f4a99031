import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  defineSignal,
  defineUpdate,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { FlowActivities } from '../activities/flows.ts';
import type { RunActivities } from '../activities/runs.ts';
import { findAnswerProblem, type OpenApproval, type OperatorAnswer } from '../src/automation/core/approval-answer.ts';
import type { ApprovalResponse } from '../src/automation/core/approvals.ts';
import type { LeafTools } from '../src/automation/core/flow-progress.ts';
import { driveMsOf, type ExecuteFlowArgs, runMessages } from '../src/temporal/contracts/automation.ts';
import { withSentence } from '../src/temporal/contracts/failure-sentences.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import { callingWork, instantWork, orElse, toolWork } from './activity-calls.ts';

const local = proxyLocalActivities<FlowActivities>(instantWork);

type FlowProgress = Awaited<ReturnType<FlowActivities['driveFlow']>>;

const proceed = defineSignal(runMessages.proceed);
const respond = defineUpdate<ApprovalResponse, [OperatorAnswer]>(runMessages.respond);

const refused = (why: string) => ApplicationFailure.nonRetryable(why, failureTypes.approvalRefused);

/** After this long a run that waits for a slot asks by itself whether it has one. */
const patienceMs = 900_000;
/** After this long a run that waits for anything else looks by itself whether it has come. */
const lookAfterMs = 86_400_000;
/** Events of a history after which the workflow continues as a new one. */
const maxHistory = 1_500;

/**
 * One run of a flow. Its state is only in PostgreSQL: the activities decide the next steps, and this workflow decides
 * where they run, and waits. If the run fails this workflow fails too, so that operators find it among the failed ones.
 */
export async function executeFlow(args: ExecuteFlowArgs): Promise<void> {
  const { policy, ...context } = args;
  const called = proxyActivities<FlowActivities & Pick<RunActivities, 'recordCancelled'>>(
    callingWork(policy, driveMsOf(policy)),
  );
  const tools = toolWork(policy);
  let wakes = 0;
  const wake = () => {
    wakes++;
  };
  setHandler(proceed, wake, { description: 'Look again whether the run may go on' });
  const wokenSince = async (seen: number, withinMs: number, details: string) => {
    setCurrentDetails(details);
    await condition(() => wakes !== seen, Math.min(withinMs, lookAfterMs));
    setCurrentDetails('');
  };
  const nextSlot = (seen: number) =>
    wokenSince(seen, patienceMs, 'Waits for a slot: as many steps of the organization call out as its plan allows.');
  const { runId, organizationId, environment, correlationId } = context;
  const ref = { runId, organizationId, environment, correlationId };

  /** The approvals that the run waits for; undefined while further ones may begin. */
  let approvals: OpenApproval[] | undefined;
  const answer = async (given: OperatorAnswer) => {
    const outcome = await orElse(local.respondToApproval(ref, given), () => called.respondToApproval(ref, given));
    if ('refused' in outcome) throw refused(outcome.refused);
    return outcome.response;
  };
  setHandler(respond, answer, {
    description: 'Answer an approval: {"approvalId": "apr_…", "action": "approve", "values": {}, "comment": null}',
    validator(given) {
      const problem = findAnswerProblem(given, approvals);
      if (problem !== undefined) throw refused(problem);
    },
  });
  /** An update that was accepted has its answer before its workflow ends. */
  const handlersEnd = () => CancellationScope.nonCancellable(() => condition(allHandlersFinished));

  /** Repeats an activity that finds no slot. */
  const inPlace = async (work: () => Promise<{ kind: 'done' | 'wait' }>) => {
    for (let seen = wakes; (await work()).kind === 'wait'; seen = wakes) await nextSlot(seen);
  };
  const useTools = async ({ position, path, round, calls: asked }: LeafTools) => {
    const options = { summary: path };
    const { maximumAttempts: maxAttempts } = policy.modelCall.retry;
    if (round === 0) {
      await inPlace(() => tools.offerStepTools.executeWithOptions(options, [{ ...ref, position, maxAttempts }]));
    }
    for (const call of asked) {
      await inPlace(() => tools.callStepTool.executeWithOptions(options, [{ ...ref, position, round, call }]));
    }
  };

  try {
    let progress: FlowProgress = { kind: 'walk' };
    while (progress.kind !== 'ended' && progress.kind !== 'gone') {
      const seen = wakes;
      if (progress.kind === 'tools') {
        setCurrentDetails(`${progress.leaves.length} steps call tools.`);
        await Promise.all(progress.leaves.map(useTools));
        setCurrentDetails('');
        progress = { kind: 'drive' };
      }
      if (workflowInfo().historyLength > maxHistory) {
        await handlersEnd();
        await continueAsNew<typeof executeFlow>(args);
      }
      if (progress.kind === 'walk') {
        progress = await orElse(local.walkFlow(args), () => called.walkFlow(args));
      } else {
        const { stepId } = progress as { stepId?: string };
        progress = await called.driveFlow.executeWithOptions({ ...(stepId && { summary: stepId }) }, [args]);
      }
      if (progress.kind === 'slot') {
        await nextSlot(seen);
      } else if (progress.kind === 'waits') {
        const { dueInMs, details } = progress;
        approvals = progress.approvals;
        await wokenSince(seen, dueInMs ?? lookAfterMs, details);
        approvals = undefined;
        progress = { kind: 'walk' };
      } else if (progress.kind === 'drive' && progress.afterMs !== undefined) {
        await wokenSince(seen, progress.afterMs, 'Waits before the next attempt of a step.');
      }
    }
    await handlersEnd();
    if (progress.kind === 'ended' && progress.status === 'failed') {
      const { stepId, code } = progress;
      setCurrentDetails(`Failed at the step \`${stepId}\`: ${withSentence(code)}`);
      const message = `Step ${stepId} failed: ${withSentence(code)}`;
      throw ApplicationFailure.nonRetryable(message, failureTypes.runFailed, { runId, stepId, code });
    }
  } catch (failure) {
    // Usually the run is recorded as cancelled already, but not when an operator cancelled this workflow in Temporal.
    if (isCancellation(failure)) await CancellationScope.nonCancellable(() => called.recordCancelled(args));
    await handlersEnd();
    throw failure;
  }
}
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, executeFlow);
