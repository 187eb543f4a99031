import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { Tracing } from '../platform/telemetry.ts';
import { traceHeader } from './contracts/trace.ts';

const withTrace = (headers: Headers, traceparent: string): Headers => ({
  ...headers,
  [traceHeader]: defaultPayloadConverter.toPayload({ traceparent }),
});

/** The traceparent that a workflow or an activity was given, if its trace is kept. */
export function traceparentOf(header: Headers[string] | undefined): string | undefined {
  if (header === undefined) return undefined;
  return defaultPayloadConverter.fromPayload<{ traceparent?: string }>(header).traceparent;
}

/** Each start of a workflow is a span, and the workflow goes on with its trace. A start out of nothing begins one. */
export const traceStarts = (tracing: Tracing): WorkflowClientInterceptor => ({
  startWithDetails(input, next) {
    const { workflowId, memo } = input.options;
    const attributes = { temporalWorkflowId: workflowId, 'atelier.correlation_id': memo?.correlationId as string };
    return tracing.inSpan(`StartWorkflow:${input.workflowType}`, { kind: 'producer', attributes }, ({ traceparent }) =>
      next(traceparent === undefined ? input : { ...input, headers: withTrace(input.headers, traceparent) }),
    );
  },
});
