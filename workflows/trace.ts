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

async function tellEnd(header: Headers[string], end: Promise<unknown>): Promise<unknown> {
  try {
    const result = await end;
    traces.workflowEnded(header, undefined);
    return result;
  } catch (failure) {
    // Anything else fails a task that is tried again, and not the workflow.
    if (failure instanceof TemporalFailure) traces.workflowEnded(header, failureClass(failure));
    throw failure;
  }
}

/**
 * Hands a workflow's trace on to its activities and tells the worker of its end. The worker makes the spans:
 * OpenTelemetry's SDK would double the bundle. Without a trace nothing is done, and commands stay as they are in any case.
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
          return tellEnd(header, next(input));
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
