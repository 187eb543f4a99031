import type { PlatformEnv } from '../env.ts';
import type { Tracing, TracingSettings } from './telemetry.ts';

type TracingEnv = Pick<
  PlatformEnv,
  'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_HEADERS' | 'OTEL_SERVICE_NAME' | 'OTEL_TRACES_SAMPLER_ARG'
>;

/** Starts tracing if an endpoint is configured. Otherwise OpenTelemetry is not loaded. */
export async function openTracing(
  env: TracingEnv,
  rest: Pick<TracingSettings, 'process' | 'version' | 'secrets' | 'log'>,
): Promise<Tracing | undefined> {
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined) return undefined;
  const { startTracing } = await import('./opentelemetry.ts');
  return startTracing({
    ...rest,
    endpoint,
    headers: env.OTEL_EXPORTER_OTLP_HEADERS,
    serviceName: env.OTEL_SERVICE_NAME,
    ratio: env.OTEL_TRACES_SAMPLER_ARG,
  });
}
