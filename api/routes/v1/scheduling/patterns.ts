import type { OpenAPIHono } from '@hono/zod-openapi';
import { generateOccurrences } from '../../../../src/scheduling/availability/occurrences.ts';
import {
  createPattern,
  deletePattern,
  getPattern,
  listPatterns,
  type PatternView,
} from '../../../../src/scheduling/availability/patterns.ts';
import { patternIds } from '../../../../src/scheduling/core/ids.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import {
  generationExamples,
  generationSchema,
  newPatternExamples,
  newPatternSchema,
  occurrencesExamples,
  occurrencesSchema,
  patternExamples,
  patternInPath,
  patternListExamples,
  patternListSchema,
  patternSchema,
} from '../../../schemas/scheduling/pattern.ts';

const withThisId = { id: '$response.body#/data/id' };
const links = {
  Get: { operationId: 'getRecurringPattern', parameters: withThisId },
  Generate: { operationId: 'generateOccurrences', parameters: withThisId },
  Delete: { operationId: 'deleteRecurringPattern', parameters: withThisId },
};

const toAnswer = ({ id, createdAt, ...pattern }: PatternView) => ({
  id: patternIds.format(id),
  ...pattern,
  createdAt: createdAt.toISOString(),
});

export function patternRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');

  const operation = operationsOf({ tag: 'Scheduling', key });

  const list = operation({
    method: 'get',
    path: '/recurring-patterns',
    operationId: 'listRecurringPatterns',
    'x-client-method': 'scheduling.recurringPatterns.list',
    summary: 'List recurring patterns',
    description: 'All recurring patterns, newest first.',
    answers: { 200: answer('Returns the patterns.', patternListSchema, { examples: patternListExamples }) },
  });
  const create = operation({
    method: 'post',
    path: '/recurring-patterns',
    operationId: 'createRecurringPattern',
    'x-client-method': 'scheduling.recurringPatterns.create',
    summary: 'Create a recurring pattern',
    description:
      'A recurring pattern closes the calendars of all hosts at repeated times, or with `blockType: "available"` opens them beyond the weekly hours. The plan limits how many there are.',
    body: jsonContent(newPatternSchema, newPatternExamples),
    idempotent: true,
    answers: {
      201: answer('Returns the pattern.', patternSchema, { examples: patternExamples, links, replayable: true }),
    },
  });
  const get = operation({
    method: 'get',
    path: '/recurring-patterns/{id}',
    operationId: 'getRecurringPattern',
    'x-client-method': 'scheduling.recurringPatterns.get',
    summary: 'Retrieve a recurring pattern',
    description: 'Returns the pattern.',
    params: patternInPath,
    answers: { 200: answer('Returns the pattern.', patternSchema, { examples: patternExamples, links }) },
  });
  const generate = operation({
    method: 'post',
    path: '/recurring-patterns/{id}/generate',
    operationId: 'generateOccurrences',
    'x-client-method': 'scheduling.recurringPatterns.generate',
    summary: 'List the occurrences of a recurring pattern',
    description:
      'Stores nothing. Occurrences are in the zone of the default host; a time that a clock change skips is moved forward. The phase depends on `startDate`, not on `fromDate`.',
    params: patternInPath,
    body: jsonContent(generationSchema, generationExamples),
    bodyIsOptional: true,
    answers: { 200: answer('Returns the occurrences.', occurrencesSchema, { examples: occurrencesExamples }) },
  });
  const remove = operation({
    method: 'delete',
    path: '/recurring-patterns/{id}',
    operationId: 'deleteRecurringPattern',
    'x-client-method': 'scheduling.recurringPatterns.delete',
    summary: 'Delete a recurring pattern',
    description: 'Existing bookings stay.',
    params: patternInPath,
    answers: { 200: deletedAnswer('The pattern was deleted.') },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const patterns = await listPatterns(c.get('scope'));
    return c.json(success({ recurringPatterns: patterns.map(toAnswer) }), 200);
  });
  routes.openapi(create, async (c) => {
    const {
      interval = 1,
      daysOfWeek = null,
      endDate = null,
      blockType = 'unavailable',
      ...given
    } = c.req.valid('json');
    const input = { ...given, interval, daysOfWeek, endDate, blockType };
    const { outcome, replayed } = await createPattern(c.get('scope'), input, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(success(toAnswer(outcome)), 201);
  });
  routes.openapi(get, async (c) => {
    return c.json(success(toAnswer(await getPattern(c.get('scope'), c.req.valid('param').id))), 200);
  });
  routes.openapi(generate, async (c) => {
    const { count = 10, fromDate } = c.req.valid('json');
    const occurrences = await generateOccurrences(c.get('scope'), c.req.valid('param').id, { count, fromDate });
    return c.json(success({ occurrences }), 200);
  });
  routes.openapi(remove, async (c) => {
    await deletePattern(c.get('scope'), c.req.valid('param').id);
    return c.json(deleted, 200);
  });
  return routes;
}
