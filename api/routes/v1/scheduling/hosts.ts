import type { OpenAPIHono } from '@hono/zod-openapi';
import { hostIds } from '../../../../src/scheduling/core/ids.ts';
import { deleteHost } from '../../../../src/scheduling/delete-host.ts';
import { createHost, type Host, listHosts, updateHost } from '../../../../src/scheduling/hosts.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import {
  hostChangeExamples,
  hostChangeSchema,
  hostExamples,
  hostInPath,
  hostListExamples,
  hostListSchema,
  hostSchema,
  newHostExamples,
  newHostSchema,
} from '../../../schemas/scheduling/host.ts';

const withThisId = { id: '$response.body#/data/id' };
const links = {
  Update: { operationId: 'updateHost', parameters: withThisId },
  Delete: { operationId: 'deleteHost', parameters: withThisId },
};

const toAnswer = ({ id, name, email, timezone, isDefault }: Host) => ({
  id: hostIds.format(id),
  name,
  email,
  timezone,
  isDefault,
});

export function hostRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');

  const operation = operationsOf({ tag: 'Scheduling', key });

  const list = operation({
    method: 'get',
    path: '/hosts',
    operationId: 'listHosts',
    'x-client-method': 'scheduling.hosts.list',
    summary: 'List hosts',
    description: 'The hosts whose time can be booked, newest first. The default host always exists.',
    answers: { 200: answer('Returns the hosts.', hostListSchema, { examples: hostListExamples }) },
  });
  const create = operation({
    method: 'post',
    path: '/hosts',
    operationId: 'createHost',
    'x-client-method': 'scheduling.hosts.create',
    summary: 'Create a host',
    description:
      'A host has a calendar of its own, open from Monday to Friday, 9 to 17, until its availability rules are set. Bookings of different hosts never clash. The plan limits how many there are.',
    body: jsonContent(newHostSchema, newHostExamples),
    idempotent: true,
    answers: { 201: answer('Returns the host.', hostSchema, { examples: hostExamples, links, replayable: true }) },
  });
  const patch = operation({
    method: 'patch',
    path: '/hosts/{id}',
    operationId: 'updateHost',
    'x-client-method': 'scheduling.hosts.update',
    summary: 'Update a host',
    description: 'Only the given fields change. Its hours are set by its availability rules.',
    params: hostInPath,
    body: jsonContent(hostChangeSchema, hostChangeExamples),
    answers: { 200: answer('Returns the updated host.', hostSchema, { examples: hostExamples, links }) },
  });
  const remove = operation({
    method: 'delete',
    path: '/hosts/{id}',
    operationId: 'deleteHost',
    'x-client-method': 'scheduling.hosts.delete',
    summary: 'Delete a host',
    description:
      'Past and cancelled bookings stay; blackouts and exceptions that name the host are deleted. The default host, one that an event type names, one with connected calendars, and one with confirmed bookings that are not over are answered with 409 `conflict`.',
    params: hostInPath,
    answers: { 200: deletedAnswer('The host was deleted.') },
    failures: [409],
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    return c.json(success({ hosts: (await listHosts(c.get('scope'))).map(toAnswer) }), 200);
  });
  routes.openapi(create, async (c) => {
    const { name, email = null, timezone = 'UTC' } = c.req.valid('json');
    const { outcome, replayed } = await createHost(c.get('scope'), { name, email, timezone }, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(success(toAnswer(outcome)), 201);
  });
  routes.openapi(patch, async (c) => {
    const changed = await updateHost(c.get('scope'), c.req.valid('param').id, c.req.valid('json'));
    return c.json(success(toAnswer(changed)), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteHost(c.get('scope'), c.req.valid('param').id);
    return c.json(deleted, 200);
  });
  return routes;
}
