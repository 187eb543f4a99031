import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Log } from './log.ts';

/** Timeout of a gauge's database query. */
export const gaugeTimeoutMs = 500;

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Other methods are counted as `other`, so that callers cannot create label values. */
export const usualMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** One value of a gauge, with its labels. */
export interface Reading {
  labels?: Record<string, string>;
  value: number;
}

export interface GaugeOptions {
  name: string;
  help: string;
  labelNames?: string[];
  /**
   * Read from the database: the same in every process. Only processes with the role `housekeeping` serve it, so that a sum
   * over all processes is not a multiple.
   */
  installationWide?: boolean;
  /** Called at each scrape. If it rejects or returns no readings, the gauge is omitted. */
  read: () => Promise<Reading[]> | Reading[];
}

interface CounterOptions<Label extends string> {
  name: string;
  help: string;
  labelNames: readonly Label[];
  /** Served as 0 from the start, so that the first increment is seen as one. */
  initial?: readonly Record<Label, string>[];
}

export interface AnsweredRequest {
  method: string;
  /** The route template of the OpenAPI document, with parameters in braces; never a requested path. */
  route: string;
  status: number;
  /** The answer reports that a run failed because of its workflow, its input or a provider: not a failure of the service. */
  runFailed: boolean;
  seconds: number;
}

const misnamed = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

/** Prometheus metrics of this process. Labels never contain organizations, ids or callers' text. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Histogram({
    name: 'atelier_http_request_duration_seconds',
    help: 'Time until the response began, by route and status.',
    labelNames: ['method', 'route', 'status', 'run_failed'],
    buckets: secondsBuckets,
    registers: [this.#registry],
  });
  readonly #log: Log;
  readonly #servesInstallation: boolean;

  /** @param servesInstallation whether gauges of the whole installation are served, too */
  constructor(log: Log, servesInstallation = false) {
    this.#log = log;
    this.#servesInstallation = servesInstallation;
  }

  requestAnswered({ method, route, status, runFailed, seconds }: AnsweredRequest): void {
    const labels = {
      method: usualMethods.has(method) ? method : 'other',
      route,
      status,
      run_failed: String(runFailed),
    };
    this.#requests.observe(labels, seconds);
  }

  /** Registers a counter. @returns a function that increments it by one */
  counter<Label extends string>({
    name,
    help,
    labelNames,
    initial = [],
  }: CounterOptions<Label>): (labels: Record<Label, string>) => void {
    const counter = new Counter({ name, help, labelNames: [...labelNames], registers: [this.#registry] });
    for (const labels of initial) counter.inc(labels, 0);
    return (labels) => counter.inc(labels);
  }

  gauge({ name, help, labelNames = [], installationWide = false, read }: GaugeOptions): void {
    if (installationWide && !this.#servesInstallation) return;
    const log = this.#log;
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      async collect() {
        this.reset();
        try {
          const readings = await read();
          for (const { labels = {}, value } of readings) this.set(labels, value);
          if (readings.length === 0) this.remove();
        } catch (error) {
          log.warn({ err: error, gauge: name }, 'a gauge could not be read');
          // A gauge without labels would report 0.
          if (labelNames.length === 0) this.remove();
        }
      },
    });
  }

  /** Collects memory, CPU time, event-loop lag and garbage collection of the process. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
    // Gauges with the suffix of counters, which Prometheus's own checks refuse. They are sums of gauges that are served.
    for (const name of misnamed) this.#registry.removeSingleMetric(name);
  }

  /** All metrics in Prometheus's text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
