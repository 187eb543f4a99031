import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { Tracing } from '../platform/observability/telemetry.ts';
import { traceHeader } from './contracts/trace.ts';

const withTrace = (headers: Headers, traceparent: string): Headers => ({
  ...headers,
  [traceHeader]: defaultPayloadConverter.toPayload({ traceparent }),
});

/** The traceparent in the header of a workflow or activity, if it is traced. */
export function traceparentOf(header: Headers[string] | undefined): string | undefined {
  if (header === undefined) return undefined;
  return defaultPayloadConverter.fromPayload<{ traceparent?: string }>(header).traceparent;
}

/** Makes a span of each start of a workflow and passes the trace on to the workflow. A start without a trace begins one. */
export const traceStarts = (tracing: Tracing): WorkflowClientInterceptor => ({
  startWithDetails(input, next) {
    const { workflowId, memo } = input.options;
    const attributes = { temporalWorkflowId: workflowId, 'atelier.correlation_id': memo?.correlationId as string };
    return tracing.inSpan(`StartWorkflow:${input.workflowType}`, { kind: 'producer', attributes }, ({ traceparent }) =>
      next(traceparent === undefined ? input : { ...input, headers: withTrace(input.headers, traceparent) }),
    );
  },
});
