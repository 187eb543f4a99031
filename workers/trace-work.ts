import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { Tracing } from '../src/platform/observability/telemetry.ts';
import { type TraceSinks, traceHeader } from '../src/temporal/contracts/trace.ts';
import { traceparentOf } from '../src/temporal/trace-starts.ts';

/** The id of a workflow's span is derived from its run id, so that a child span needs no message to know its parent. */
const spanIdOf = (runId: string) => runId.replaceAll('-', '').slice(-16);

const below = (traceparent: string, runId: string) => `${traceparent.slice(0, -19)}${spanIdOf(runId)}-01`;

/** Makes a span of each attempt of an activity, below its workflow's span, when the workflow is traced. */
export const traceActivities =
  (tracing: Tracing): ActivityInterceptorsFactory =>
  ({ info }) => ({
    inbound: {
      execute(input, next) {
        const workflow = info.workflowExecution;
        const traceparent = traceparentOf(input.headers[traceHeader]);
        if (!workflow || traceparent === undefined) return next(input);
        const attributes = {
          temporalWorkflowId: workflow.workflowId,
          run_id: workflow.runId,
          temporalActivityId: info.activityId,
          'atelier.attempt': info.attempt,
        };
        const options = { attributes, parent: below(traceparent, workflow.runId) };
        return tracing.inSpan(`RunActivity:${info.activityType}`, options, () => next(input));
      },
    },
  });

/** Makes the spans of workflows. Registered without tracing too: the process that started the workflow may have traced it. */
export const traceSinks = (tracing: Tracing | undefined): InjectedSinks<TraceSinks> => ({
  traces: {
    workflowEnded: {
      fn({ workflowType, workflowId, runId, startTime, memo }, header, failure) {
        tracing?.ended(`RunWorkflow:${workflowType}`, {
          kind: 'consumer',
          parent: traceparentOf(header as Parameters<typeof traceparentOf>[0]),
          spanId: spanIdOf(runId),
          startedAt: startTime,
          failure,
          attributes: {
            temporalWorkflowId: workflowId,
            run_id: runId,
            'atelier.correlation_id': memo?.correlationId as string,
          },
        });
      },
    },
  },
});
