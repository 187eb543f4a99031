import {
  ApplicationFailure,
  type Headers,
  proxySinks,
  TemporalFailure,
  type WorkflowInterceptorsFactory,
} from '@temporalio/workflow';
import { type TraceSinks, traceHeader } from '../src/temporal/contracts/trace.ts';

const { traces } = proxySinks<TraceSinks>();

const failureClass = (failure: TemporalFailure): string =>
  (failure instanceof ApplicationFailure && failure.type) || failure.name;

async function reportEnd(header: Headers[string], end: Promise<unknown>): Promise<unknown> {
  try {
    const result = await end;
    traces.workflowEnded(header, undefined);
    return result;
  } catch (failure) {
    // Any other error fails the workflow task, which is retried, and not the workflow.
    if (failure instanceof TemporalFailure) traces.workflowEnded(header, failureClass(failure));
    throw failure;
  }
}

/**
 * Passes a workflow's trace on to its activities and reports its end to the worker, which makes the spans: OpenTelemetry's
 * SDK would double the size of the bundle. Does nothing without a trace, and never changes commands.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let trace: Headers | undefined;
  const traced = <Input extends { readonly headers: Headers }>(input: Input): Input =>
    trace ? { ...input, headers: { ...input.headers, ...trace } } : input;
  return {
    inbound: [
      {
        execute(input, next) {
          const header = input.headers[traceHeader];
          if (!header) return next(input);
          trace = { [traceHeader]: header };
          return reportEnd(header, next(input));
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(traced(input)),
        scheduleLocalActivity: (input, next) => next(traced(input)),
      },
    ],
  };
};
