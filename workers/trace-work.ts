import type { ActivityInterceptorsFactory, InjectedSinks } from '@temporalio/worker';
import type { Tracing } from '../src/platform/telemetry.ts';
import { type TraceSinks, traceHeader } from '../src/temporal/contracts/trace.ts';
import { traceparentOf } from '../src/temporal/trace-starts.ts';

/** A workflow's span is named after its run: whoever makes a span below it knows the id without being told. */
const spanIdOf = (runId: string) => runId.replaceAll('-', '').slice(-16);

const below = (traceparent: string, runId: string) => `${traceparent.slice(0, -19)}${spanIdOf(runId)}-01`;

/** Each try of an activity is a span below its workflow's, where the workflow has a trace. */
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

/** Makes the spans of workflows. There without tracing too: the process that started a workflow may have it. */
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
