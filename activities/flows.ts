import { type OperatorOutcome, respondInTemporal } from '../src/automation/approvals/respond-in-temporal.ts';
import type { OperatorAnswer } from '../src/automation/core/approval-answer.ts';
import type { FlowProgress } from '../src/automation/core/flow-progress.ts';
import type { FlowServices } from '../src/automation/flows/call-leaf.ts';
import { executeFlow, failFlow } from '../src/automation/flows/execute-flow.ts';
import type { RunRef } from '../src/automation/runs/run-execution.ts';
import { driveMsOf, type RunPolicy } from '../src/temporal/contracts/automation.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { failingUnexpected, inLocalTime, scopeOf, withHeartbeats } from './activity-context.ts';

const heartbeatMs = 1_000;
/** Maximum duration of a walk. Its activity has ten seconds, and a repeated activity would do its last work twice. */
const maxWalkMs = 3_000;

interface FlowActivityServices extends FlowServices {
  /** Aborted when the process begins to drain. */
  draining: AbortController;
}

interface FlowArgs extends RunRef, WorkContext {
  policy: RunPolicy;
}

export const createFlowActivities = ({ draining, ...services }: FlowActivityServices) => {
  const { database } = services;
  const failing = (args: FlowArgs, work: () => Promise<FlowProgress>) =>
    failingUnexpected(
      {
        log: services.log,
        kind: 'run',
        facts: { runId: args.runId },
        failureType: failureTypes.runFailed,
        fail: () => failFlow(services, scopeOf(database, args), args),
      },
      work,
    );

  return {
    /** Executes what answers at once, and begins waits. */
    walkFlow({ policy, ...ref }: FlowArgs): Promise<FlowProgress> {
      const until = performance.now() + maxWalkMs;
      const work = (signal: AbortSignal) =>
        executeFlow(services, scopeOf(database, ref), ref, {
          policy,
          signal,
          mayCall: false,
          mayGoOn: () => performance.now() < until,
          onCall() {},
        });
      return failing({ policy, ...ref }, () => inLocalTime(() => withHeartbeats(heartbeatMs, work)));
    },

    /** Answers an approval of the run for an operator. @returns why it was refused, or the answer */
    respondToApproval(
      { runId, ...context }: Pick<RunRef, 'runId'> & WorkContext,
      answer: OperatorAnswer,
    ): Promise<OperatorOutcome> {
      return respondInTemporal(services, scopeOf(database, context), runId, answer);
    },

    /** Executes steps that call out, as many in parallel as allowed, and the instant steps between them. */
    driveFlow({ policy, ...ref }: FlowArgs): Promise<FlowProgress> {
      const until = performance.now() + driveMsOf(policy);
      let stepId: string | undefined;
      const work = (signal: AbortSignal) =>
        executeFlow(services, scopeOf(database, ref), ref, {
          policy,
          signal,
          mayCall: true,
          mayGoOn: () => performance.now() < until && !draining.signal.aborted,
          onCall(id) {
            stepId = id;
          },
        });
      return failing({ policy, ...ref }, () => withHeartbeats(heartbeatMs, work, () => ({ stepId })));
    },
  };
};

export type FlowActivities = ReturnType<typeof createFlowActivities>;
