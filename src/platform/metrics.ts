import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Log } from './log.ts';

/** How long a gauge may take to read the database. */
export const gaugeTimeoutMs = 500;

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Everything else that is sent as a method is one like any other. */
export const usualMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** One value of a gauge, and which of its kind it is. */
export interface Reading {
  labels?: Record<string, string>;
  value: number;
}

export interface GaugeOptions {
  name: string;
  help: string;
  labelNames?: string[];
  /** Asked at each scrape. One that rejects, or has no reading, leaves the gauge out of it. */
  read: () => Promise<Reading[]> | Reading[];
}

export interface CounterOptions<Label extends string> {
  name: string;
  help: string;
  labelNames: readonly Label[];
}

export interface AnsweredRequest {
  method: string;
  /** As the document has it, with parameters in braces: never a path that somebody sent. */
  route: string;
  status: number;
  seconds: number;
}

/** What this process counts, for Prometheus. No label holds an organization, an id or a text from outside. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Histogram({
    name: 'atelier_http_request_duration_seconds',
    help: 'Requests answered, by route and status, until their answer began.',
    labelNames: ['method', 'route', 'status'],
    buckets: secondsBuckets,
    registers: [this.#registry],
  });
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  requestAnswered({ method, route, status, seconds }: AnsweredRequest): void {
    this.#requests.observe({ method: usualMethods.has(method) ? method : 'other', route, status }, seconds);
  }

  /** A counter of a feature's own. @returns a function that counts one */
  counter<Label extends string>({
    name,
    help,
    labelNames,
  }: CounterOptions<Label>): (labels: Record<Label, string>) => void {
    const counter = new Counter({ name, help, labelNames: [...labelNames], registers: [this.#registry] });
    return (labels) => counter.inc(labels);
  }

  gauge({ name, help, labelNames = [], read }: GaugeOptions): void {
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
          // Without labels a gauge would say 0.
          if (labelNames.length === 0) this.remove();
        }
      },
    });
  }

  /** Memory, CPU time, event-loop lag and garbage collection of the process; these cost a little all the time. */
  watchProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  /** Everything in the text format of Prometheus. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
