import { z } from '@hono/zod-openapi';
import { errorCodePattern } from '../../../src/automation/core/run-status.ts';
import { tagPattern, triggerTypes } from '../../../src/automation/core/starts.ts';
import { runStatusWords } from '../../dialects/automation/dialect.ts';
import { integerInQuery, pageQuery } from '../pagination.ts';

const parts = (text: string) => text.split(',').filter((part) => part !== '');

export const several = <Item>(read: (part: string) => Item | undefined, expectation: string) =>
  z
    .string()
    .transform(parts)
    .refine((given) => given.length > 0 && given.length <= 20, expectation)
    .transform((given) => given.map(read))
    .refine((items): items is NonNullable<Item>[] => items.every((item) => item !== undefined), expectation)
    .optional();

const id = (description: string) =>
  z
    .string()
    .max(100)
    .optional()
    .openapi({ description: `${description} Both forms of the id are accepted.` });

const time = (description: string) =>
  z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .optional()
    .openapi({ type: 'string', format: 'date-time', description });

export const errorCode = z
  .string()
  .regex(errorCodePattern, 'Expected the code of an error.')
  .optional()
  .openapi({ description: 'Runs that failed or were cancelled with this `error.code`.' });

const maxOffset = 10_000;

export const runSearchQuery = z.object({
  limit: pageQuery.limit,
  offset: integerInQuery('offset', {
    minimum: 0,
    maximum: maxOffset,
    description: 'Default 0. Not with `after`.',
  }),
  after: z.string().max(200).optional().openapi({ description: 'The `nextCursor` of the page before.' }),
  workflowId: id('Runs of this workflow.'),
  status: several(
    (part) => runStatusWords.get(part.toLowerCase()),
    `Expected statuses of runs, separated by commas: ${[...runStatusWords.keys()].join(', ')}.`,
  ).openapi({
    type: 'string',
    description: 'Statuses of either dialect, separated by commas.',
  }),
  tag: several((part) => (tagPattern.test(part) ? part : undefined), 'Expected tags, separated by commas.').openapi({
    type: 'string',
    description: 'Tags, separated by commas: the runs have all of them.',
  }),
  from: time('Runs that were created at this time or later.'),
  to: time('Runs that were created before this time.'),
  triggeredBy: several(
    (part) => triggerTypes.find((type) => type === part),
    `Expected types of triggers, separated by commas: ${triggerTypes.join(', ')}.`,
  ).openapi({ type: 'string', description: `What started the runs: ${triggerTypes.join(', ')}; separated by commas.` }),
  parentRunId: id('Runs that a step of this run started.'),
  version: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'Expected the number of a version.')
    .transform(Number)
    .optional()
    .openapi({ type: 'integer', minimum: 1, description: 'Runs of this version of their workflow.' }),
  batchId: id('Runs of this batch.'),
  errorCode,
  test: z
    .literal('true')
    .optional()
    .openapi({ description: 'Lists test runs alone. Without it no test runs are listed.' }),
  correlationId: z.string().min(1).max(128).optional(),
});
