import { z } from '@hono/zod-openapi';
import { usageDimensions } from '../../../src/tenancy/usage/usage-groups.ts';

const time = (name: string, description: string) =>
  z
    .union(
      [z.iso.date(), z.iso.datetime({ offset: true })],
      'Expected a date, as in 2026-12-01, or a time with an offset.',
    )
    .optional()
    .openapi({ param: { name, in: 'query' }, type: 'string', description });

export const usageQuery = z.object({
  from: time('from', 'The first day, or a time in it: a date or a date-time. Default: the first day of the month.'),
  to: time('to', 'The end of the time, exclusive: a date or a date-time. Default: the end of the month of `from`.'),
  groupBy: z
    .enum(usageDimensions)
    .optional()
    .openapi({
      param: { name: 'groupBy', in: 'query' },
      description:
        'Adds `groups`. `day` and `hour` (UTC) have every value; `kind` is what was done; `workflow` has runs and tokens; `model` has tokens and credits; `key` has requests, the runs that it started, and tokens and credits of what it asked for; `error` has failed runs by their code.',
    }),
});

const counted = (description: string) => z.int().nullable().openapi({ description });

const group = z.object({
  group: z.string().openapi({
    description:
      'The day, the start of the hour, the id of the workflow or key, the model, the kind (`workflow`, `chat`, `agent`, `image`, `webhook` …), or the code of the error. `other` is the use of values beyond the 200 that a day counts, or that an answer shows.',
  }),
  requests: counted('Null where the grouping does not count requests.'),
  runs: counted('Runs that were created.'),
  failedRuns: counted('Runs that failed.'),
  tokens: counted('Tokens of models.'),
  credits: counted('Credits that were charged.'),
  deliveries: counted('Deliveries of webhooks that succeeded.'),
  failedDeliveries: counted('Deliveries that were given up.'),
});

export const usageSchema = z
  .object({
    period: z
      .object({ start: z.iso.date(), end: z.iso.date() })
      .openapi({ description: 'From the beginning of the first day to the beginning of the second, in UTC.' }),
    requests: z.int(),
    runs: z.int(),
    tokens: z.int(),
    credits: z.int(),
    groups: z
      .array(group)
      .optional()
      .openapi({ description: 'With `groupBy`. Days and hours without use are absent.' }),
  })
  .openapi('Usage');

const example = {
  period: { start: '2026-11-01', end: '2026-12-01' },
  requests: 412,
  runs: 90,
  tokens: 18_311,
  credits: 0,
};
export const usageExamples = { A: example, B: example };
