import type { StatementWatch } from '../database/sql.ts';
import type { Log } from './log.ts';

/** OpenTelemetry's span kinds. */
export type SpanKind = 'server' | 'client' | 'producer' | 'consumer' | 'internal';

/** Ids, names and numbers; never text from requests or models. */
export type SpanAttributes = Record<string, string | number | boolean | undefined>;

interface SpanOptions {
  /** `internal` by default. */
  kind?: SpanKind;
  attributes?: SpanAttributes;
  /** A W3C traceparent of another process. Without it the current span is the parent, if there is one. */
  parent?: string | undefined;
}

/** A span that has not ended. */
export interface OpenSpan {
  /** Continues the trace in another process; undefined when the trace is not sampled. */
  readonly traceparent: string | undefined;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** @param failure the class of the failure; never a message, which could contain tenants' data */
  fail(failure: string): void;
}

/** A span of work that was measured elsewhere and has ended. */
interface EndedSpan extends SpanOptions {
  /** 16 hex digits. Its children already use it as their parent. */
  spanId: string;
  startedAt: Date;
  failure?: string | undefined;
}

/** Exports spans to an OpenTelemetry collector. */
export interface Tracing {
  /** Runs `work` in a span. Spans started within it are its children. An error marks the span as failed. */
  inSpan<T>(name: string, options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** Records a span that ends now. */
  ended(name: string, span: EndedSpan): void;
  /** Ids of the current span, for log lines. */
  current(): { traceId: string; spanId: string } | undefined;
  /** Exports the remaining spans, for at most two seconds. */
  close(): Promise<void>;
}

export interface TracingSettings {
  /** Base URL of the collector, without `/v1/traces`. */
  endpoint: string;
  /** `name=value,…` with percent-encoded values. */
  headers: string | undefined;
  serviceName: string;
  /** Share of new traces that is sampled, 0 to 1. An incoming traceparent carries its own decision. */
  ratio: number;
  /** The roles of the process. */
  process: string;
  version: string;
  /** Texts that are redacted wherever they appear. */
  secrets: readonly string[];
  log: Log;
}

const identifier = /^[\w.:-]{1,64}$/;

/** The class of a failure: its kind, code, type or name; never its message. */
export function failureClass(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { kind, code, type } = error as { kind?: unknown; code?: unknown; type?: unknown };
  const name = [kind, code, type].find((value) => typeof value === 'string' && identifier.test(value));
  return typeof name === 'string' ? name : error.name;
}

/** Makes each named statement a child span of the current span. Statements outside a span are not traced. */
export const traceStatements =
  (tracing: Tracing): StatementWatch =>
  (name, ask) => {
    if (!tracing.current()) return ask();
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
    return tracing.inSpan(name, { kind: 'client', attributes }, ask);
  };
