import type { Log } from './log.ts';
import type { StatementWatch } from './sql.ts';

/** OpenTelemetry's kinds: who asked, who was asked, and what only happens inside. */
export type SpanKind = 'server' | 'client' | 'producer' | 'consumer' | 'internal';

/** Ids, names and numbers; no text that a request or a model brought. */
export type SpanAttributes = Record<string, string | number | boolean | undefined>;

export interface SpanOptions {
  /** `internal` unless given. */
  kind?: SpanKind;
  attributes?: SpanAttributes;
  /** A W3C traceparent from another process. Without one the span belongs to the span it began in, if there is one. */
  parent?: string | undefined;
}

/** A span while its work goes on. */
export interface OpenSpan {
  /** For whoever goes on with the trace in another process; absent when nobody keeps this trace. */
  readonly traceparent: string | undefined;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** @param failure its class, one of a closed list: never a message, which may hold anybody's data */
  fail(failure: string): void;
}

/** Work that was watched elsewhere and is over. */
export interface EndedSpan extends SpanOptions {
  /** 16 hex digits; its children know it already. */
  spanId: string;
  startedAt: Date;
  failure?: string | undefined;
}

/** Tells an OpenTelemetry collector what this process does. There is none in a process that nobody asked to. */
export interface Tracing {
  /** Runs `work` in a span; spans that begin within it are its children. What it throws fails the span. */
  inSpan<T>(name: string, options: SpanOptions, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** A span that ends now. */
  ended(name: string, span: EndedSpan): void;
  /** Where this is called from, as lines of log say it. */
  current(): { traceId: string; spanId: string } | undefined;
  /** Sends what is left, for two seconds at most. */
  close(): Promise<void>;
}

export interface TracingSettings {
  /** Of the collector: `/v1/traces` is below it. */
  endpoint: string;
  /** As the environment writes them. */
  headers: string | undefined;
  serviceName: string;
  /** What of the traces that begin here is kept, 0 to 1. One that began elsewhere was decided on there. */
  ratio: number;
  /** Which roles the process has. */
  process: string;
  version: string;
  /** Texts that must never be told, whatever they look like. */
  secrets: readonly string[];
  log: Log;
}

const identifier = /^[\w.:-]{1,64}$/;

/** The class of a failure: the closest to a closed list that it says of itself, never its message. */
export function failureClass(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { kind, code, type } = error as { kind?: unknown; code?: unknown; type?: unknown };
  const name = [kind, code, type].find((value) => typeof value === 'string' && identifier.test(value));
  return typeof name === 'string' ? name : error.name;
}

/** Each named statement is a span of whatever asked it. What nobody asked for, a drain that found nothing, is none. */
export const traceStatements =
  (tracing: Tracing): StatementWatch =>
  (name, ask) => {
    if (!tracing.current()) return ask();
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name };
    return tracing.inSpan(name, { kind: 'client', attributes }, ask);
  };
