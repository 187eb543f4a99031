/** The header that carries a W3C traceparent, under the name that Temporal's own OpenTelemetry interceptors use. */
export const traceHeader = '_tracer-data';

/** The report of a traced workflow to its worker. The header is passed on unchanged. */
export type TraceSinks = {
  traces: { workflowEnded(header: unknown, failure: string | undefined): void };
};
