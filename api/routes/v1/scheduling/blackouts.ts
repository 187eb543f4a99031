import type { OpenAPIHono } from '@hono/zod-openapi';
import {
  type BlackoutView,
  createBlackout,
  deleteBlackout,
  getBlackout,
  listBlackouts,
} from '../../../../src/scheduling/availability/blackouts.ts';
import { blackoutIds, hostIds } from '../../../../src/scheduling/core/ids.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import {
  blackoutExamples,
  blackoutInPath,
  blackoutListExamples,
  blackoutListSchema,
  blackoutSchema,
  newBlackoutExamples,
  newBlackoutSchema,
} from '../../../schemas/scheduling/blackout.ts';

const withThisId = { id: '$response.body#/data/id' };
const links = {
  Get: { operationId: 'getBlackoutPeriod', parameters: withThisId },
  Delete: { operationId: 'deleteBlackoutPeriod', parameters: withThisId },
};

const toAnswer = ({ id, hostId, createdAt, ...blackout }: BlackoutView) => ({
  id: blackoutIds.format(id),
  ...blackout,
  hostId: hostId ? hostIds.format(hostId) : null,
  createdAt: createdAt.toISOString(),
});

export function blackoutRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');

  const operation = operationsOf({ tag: 'Scheduling', key });

  const list = operation({
    method: 'get',
    path: '/blackout-periods',
    operationId: 'listBlackoutPeriods',
    'x-client-method': 'scheduling.blackoutPeriods.list',
    summary: 'List blackout periods',
    description: 'All blackout periods, newest first.',
    answers: { 200: answer('Returns the blackout periods.', blackoutListSchema, { examples: blackoutListExamples }) },
  });
  const create = operation({
    method: 'post',
    path: '/blackout-periods',
    operationId: 'createBlackoutPeriod',
    'x-client-method': 'scheduling.blackoutPeriods.create',
    summary: 'Create a blackout period',
    description:
      'During a blackout period no host can be booked, or only the host `hostId` cannot. Existing bookings stay. The plan limits how many there are. More than 1.5 MiB of them are answered with 409 `conflict`.',
    body: jsonContent(newBlackoutSchema, newBlackoutExamples),
    idempotent: true,
    answers: {
      201: answer('Returns the blackout period.', blackoutSchema, {
        examples: blackoutExamples,
        links,
        replayable: true,
      }),
    },
    failures: [409],
  });
  const get = operation({
    method: 'get',
    path: '/blackout-periods/{id}',
    operationId: 'getBlackoutPeriod',
    'x-client-method': 'scheduling.blackoutPeriods.get',
    summary: 'Retrieve a blackout period',
    description: 'Returns the blackout period.',
    params: blackoutInPath,
    answers: { 200: answer('Returns the blackout period.', blackoutSchema, { examples: blackoutExamples, links }) },
  });
  const remove = operation({
    method: 'delete',
    path: '/blackout-periods/{id}',
    operationId: 'deleteBlackoutPeriod',
    'x-client-method': 'scheduling.blackoutPeriods.delete',
    summary: 'Delete a blackout period',
    description: 'Its time can be booked again.',
    params: blackoutInPath,
    answers: { 200: deletedAnswer('The blackout period was deleted.') },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const blackouts = await listBlackouts(c.get('scope'));
    return c.json(success({ blackoutPeriods: blackouts.map(toAnswer) }), 200);
  });
  routes.openapi(create, async (c) => {
    const { allDay = true, recurring = false, reason = null, hostId = null, ...given } = c.req.valid('json');
    const input = { ...given, allDay, recurring, reason, hostId };
    const { outcome, replayed } = await createBlackout(c.get('scope'), input, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(success(toAnswer(outcome)), 201);
  });
  routes.openapi(get, async (c) => {
    return c.json(success(toAnswer(await getBlackout(c.get('scope'), c.req.valid('param').id))), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteBlackout(c.get('scope'), c.req.valid('param').id);
    return c.json(deleted, 200);
  });
  return routes;
}
