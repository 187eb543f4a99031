import { z } from '@hono/zod-openapi';
import {
  type StatisticsWindow,
  statisticsWindowNames,
  statusClasses,
  summarize,
  windowStart,
} from '../../../src/webhooks/core/statistics.ts';

const defaultWindow = '24h' satisfies StatisticsWindow;

export const statisticsQuery = z.object({
  window: z
    .enum(statisticsWindowNames, `Expected one of ${statisticsWindowNames.join(', ')}.`)
    .default(defaultWindow)
    .openapi({
      param: { name: 'window', in: 'query' },
      // A text in the document: values that begin with a digit have no names in clients.
      type: 'string',
      enum: undefined as never,
      pattern: '^(1h|24h|7d|30d)$',
      description: 'The time before now: an hour in minutes, a day in hours, 7 days in 3 hours, 30 days in 12 hours.',
    }),
});

const count = z.int().min(0);

const pointSchema = z
  .object({
    at: z.iso.datetime().openapi({ description: 'The beginning of the point.' }),
    succeeded: count,
    failed: count,
  })
  .openapi('WebhookStatisticsPoint');

const byStatusClass = z
  .object({ '2xx': count, '3xx': count, '4xx': count, '5xx': count, error: count })
  .openapi('AttemptsByStatusClass', { description: '`error`: attempts that no HTTP status answered.' });

const estimate = z.int().min(0).nullable();

export const statisticsSchema = z
  .object({
    attempts: count.openapi({ description: '`succeeded` and `failed` together.' }),
    succeeded: count.openapi({ description: 'Attempts that were answered with a 2xx status.' }),
    failed: count,
    deadLettered: count.openapi({ description: 'How often a delivery became a dead letter.' }),
    successRate: z.number().min(0).max(1).nullable().openapi({ description: 'Null without attempts.' }),
    latencyMs: z.object({ p50: estimate, p95: estimate }).openapi('AttemptLatency', {
      description:
        'The duration that half of the answered attempts, and 95 % of them, did not exceed. Estimated from counts of durations. Null without such attempts.',
    }),
    byStatusClass,
    series: z.array(pointSchema).max(60).openapi({ description: 'Oldest first, without gaps.' }),
  })
  .openapi('WebhookStatistics');

const exampleTime = Date.parse('2026-11-21T09:30:00Z');
const latencies = [0, 0, 0, 0, 0, 0, 0, 0, 0, 40, 71, 55, 12, 3];
const example = summarize(
  [
    {
      at: new Date(windowStart(defaultWindow, exampleTime)),
      byStatusClass: {
        ...Object.fromEntries(statusClasses.map((name) => [name, 0])),
        '2xx': 180,
        '5xx': 1,
        error: 2,
      } as never,
      deadLettered: 1,
      latencies,
    },
  ],
  defaultWindow,
  exampleTime,
);
const shown = {
  ...example,
  series: example.series.slice(0, 2).map(({ at, ...point }) => ({ at: at.toISOString(), ...point })),
};
export const statisticsExamples = { A: shown, B: shown };
