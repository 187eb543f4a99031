import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Attributes,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { parseKeyPairsIntoRecord, parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { withoutSlash } from '../core/base-url.ts';
import type { Log } from './log.ts';
import { redactorOf } from './redact.ts';
import { failureClass, type OpenSpan, type SpanAttributes, type Tracing, type TracingSettings } from './telemetry.ts';

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
};

const exportEveryMs = 1_000;
const exportLimitMs = 5_000;
const closeLimitMs = 2_000;
/** Spans that are buffered while the collector is unavailable. Further spans are dropped. */
const maxQueuedSpans = 8_192;
const maxTextLength = 256;
const warnEveryMs = 60_000;

/** Logs a warning at most once a minute: every export fails while the collector is unavailable. */
function throttledWarning(log: Log): (facts: object) => void {
  let silentUntil = 0;
  return (facts) => {
    if (Date.now() < silentUntil) return;
    silentUntil = Date.now() + warnEveryMs;
    log.warn(facts, 'traces are lost');
  };
}

/** Random ids, except for a span whose id its children already use. */
class SpanIds extends RandomIdGenerator {
  next: string | undefined;

  override generateSpanId(): string {
    const id = this.next ?? super.generateSpanId();
    this.next = undefined;
    return id;
  }
}

function openProvider(settings: TracingSettings, idGenerator: SpanIds): TracerProvider {
  const exporter = new OTLPTraceExporter({
    url: `${withoutSlash(settings.endpoint)}/v1/traces`,
    headers: parseKeyPairsIntoRecord(settings.headers),
    timeoutMillis: exportLimitMs,
  });
  const about = {
    'service.name': settings.serviceName,
    'service.version': settings.version,
    'atelier.process': settings.process,
  };
  return new TracerProvider({
    idGenerator,
    resource: defaultResource().merge(resourceFromAttributes(about)),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.ratio) }),
    spanLimits: { attributeValueLengthLimit: maxTextLength },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: maxQueuedSpans,
        scheduledDelayMillis: exportEveryMs,
        exportTimeoutMillis: 2 * exportLimitMs,
      }),
    ],
  });
}

/**
 * Tracing with OpenTelemetry's SDK. The provider is not registered globally: libraries would send spans of their own to it,
 * which can contain prompts.
 */
export function startTracing(settings: TracingSettings): Tracing {
  const warnLost = throttledWarning(settings.log);
  setGlobalErrorHandler((error) => warnLost(error instanceof Error ? { err: error } : { problem: String(error) }));
  const warn = (problem: string) => warnLost({ problem });
  const quiet = () => {};
  diag.setLogger({ error: warn, warn, info: quiet, debug: quiet, verbose: quiet }, DiagLogLevel.WARN);

  const ids = new SpanIds();
  const provider = openProvider(settings, ids);
  const tracer = provider.getTracer('atelier', settings.version);
  const active = new AsyncLocalStorage<Span>();
  const redact = redactorOf(settings.secrets);

  // Models and correlation ids are chosen by callers and could contain secrets.
  const clean = (attributes: SpanAttributes = {}): Attributes =>
    Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name, typeof value === 'string' ? redact(value) : value]),
    );

  const fail = (span: Span, failure: string) => {
    span.setAttribute('error.type', failure);
    span.setStatus({ code: SpanStatusCode.ERROR });
  };

  const opened = (span: Span): OpenSpan => {
    const { traceId, spanId, traceFlags } = span.spanContext();
    return {
      traceparent: traceFlags & TraceFlags.SAMPLED ? `00-${traceId}-${spanId}-01` : undefined,
      rename: (name) => span.updateName(name),
      set: (attributes) => span.setAttributes(clean(attributes)),
      fail: (failure) => fail(span, failure),
    };
  };

  const contextOf = (parent: string | undefined) => {
    if (parent === undefined) {
      const around = active.getStore();
      return around ? trace.setSpan(ROOT_CONTEXT, around) : ROOT_CONTEXT;
    }
    const remote = parseTraceParent(parent);
    return remote ? trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true }) : ROOT_CONTEXT;
  };

  return {
    async inSpan(name, { kind = 'internal', attributes, parent }, work) {
      const options = { kind: kinds[kind], attributes: clean(attributes) };
      const span = tracer.startSpan(name, options, contextOf(parent));
      try {
        return await active.run(span, work, opened(span));
      } catch (error) {
        fail(span, failureClass(error));
        throw error;
      } finally {
        span.end();
      }
    },
    ended(name, { kind = 'internal', attributes, parent, spanId, startedAt, failure }) {
      ids.next = spanId;
      const options = {
        kind: kinds[kind],
        attributes: clean(attributes),
        startTime: Math.min(startedAt.getTime(), Date.now()),
      };
      const span = tracer.startSpan(name, options, contextOf(parent));
      if (failure !== undefined) fail(span, failure);
      span.end();
    },
    current() {
      const context = active.getStore()?.spanContext();
      return context && { traceId: context.traceId, spanId: context.spanId };
    },
    async close() {
      // Do not wait for a collector that hangs.
      await Promise.race([provider.shutdown().catch(warnLost), sleep(closeLimitMs)]);
    },
  };
}
