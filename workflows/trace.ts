import {
  ApplicationFailure,
  type Headers,
  proxySinks,
  TemporalFailure,
  type WorkflowInterceptorsFactory,
  workflowInfo,
} from '@temporalio/workflow';
import { type TraceSinks, traceHeader } from '../src/temporal/contracts/trace.ts';
import type { WorkLogSinks } from '../src/temporal/contracts/work-log.ts';

const { traces, workLog } = proxySinks<TraceSinks & WorkLogSinks>();

const failureClass = (failure: TemporalFailure): string =>
  (failure instanceof ApplicationFailure && failure.type) || failure.name;

async function reportEnd(header: Headers[string] | undefined, end: Promise<unknown>): Promise<unknown> {
  try {
    const result = await end;
    if (header) traces.workflowEnded(header, undefined);
    workLog.ended(undefined);
    return result;
  } catch (failure) {
    // Any other error fails the workflow task, which is retried, or continues the workflow as a new one.
    if (failure instanceof TemporalFailure) {
      const type = failureClass(failure);
      if (header) traces.workflowEnded(header, type);
      workLog.ended({ type, message: failure.message });
    }
    throw failure;
  }
}

/**
 * Passes a workflow's trace on to its activities and reports its start and end to the worker, which writes the log and makes
 * the spans: OpenTelemetry's SDK would double the size of the bundle. Never changes commands.
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
          if (header) trace = { [traceHeader]: header };
          if (workflowInfo().continuedFromExecutionRunId === undefined) workLog.started();
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
