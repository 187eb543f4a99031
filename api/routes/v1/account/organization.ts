import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { addRedirect, listRedirects, removeRedirect } from '../../../../src/connections/redirects.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import {
  changeOwnOrganization,
  findOwnOrganization,
  type OwnOrganization,
} from '../../../../src/tenancy/administration/own-organization.ts';
import { organizationIds } from '../../../../src/tenancy/core/ids.ts';
import { deleteOrganization } from '../../../../src/tenancy/organizations.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { requirePerson } from '../../../middleware/session.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import {
  deletedOrganizationExamples,
  deletedOrganizationSchema,
  exampleRedirect,
  newRedirectExamples,
  newRedirectSchema,
  organizationChangeExamples,
  organizationChangeSchema,
  organizationDeletionExamples,
  organizationDeletionSchema,
  organizationExamples,
  organizationSchema,
  redirectsExamples,
  redirectsSchema,
} from '../../../schemas/account/members.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';

const shown = ({ id, createdAt, ...rest }: OwnOrganization) => ({
  id: organizationIds.format(id),
  ...rest,
  createdAt: createdAt.toISOString(),
});

/** The organization of the caller, and the addresses to which its users may be sent back. */
export function organizationRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { database, env } = services;
  const key = requireKey(services, 'keys');
  const operation = operationsOf({ tag: 'Organization', key });
  const ofPeople = operationsOf({ tag: 'Organization', key, security: [{ session: [] }] });
  const allowsLoopback = env.NODE_ENV !== 'production';

  const get = operation({
    method: 'get',
    path: '/organization',
    operationId: 'getOrganization',
    'x-client-method': 'organization.get',
    summary: 'Retrieve the organization',
    description: 'The organization of the key, or the one that a session names.',
    answers: { 200: answer('Returns the organization.', organizationSchema, { examples: organizationExamples }) },
  });
  const update = operation({
    method: 'patch',
    path: '/organization',
    operationId: 'updateOrganization',
    'x-client-method': 'organization.update',
    summary: 'Change the organization',
    description: 'Changes the given fields. A slug that another organization has is answered with 409.',
    body: jsonContent(organizationChangeSchema, organizationChangeExamples),
    failures: [409],
    answers: { 200: answer('Returns the organization.', organizationSchema, { examples: organizationExamples }) },
  });
  const remove = ofPeople({
    method: 'delete',
    path: '/organization',
    operationId: 'deleteOrganization',
    'x-client-method': 'organization.delete',
    summary: 'Delete the organization',
    description:
      "Needs an owner's session and the organization's name. Its keys, tokens and sessions stop working at once, and no work is done for it any more. For 30 days the operator can restore it; then everything is removed.",
    body: jsonContent(organizationDeletionSchema, organizationDeletionExamples),
    answers: {
      202: answer('The organization is deleted.', deletedOrganizationSchema, { examples: deletedOrganizationExamples }),
    },
  });
  const listUrls = operation({
    method: 'get',
    path: '/redirect-urls',
    operationId: 'listRedirectUrls',
    'x-client-method': 'redirectUrls.list',
    summary: 'List redirect addresses',
    description:
      'The addresses to which users may return after they connect an account, in the order in which they were added.',
    answers: { 200: answer('Returns the addresses.', redirectsSchema, { examples: redirectsExamples }) },
  });
  const addUrl = operation({
    method: 'post',
    path: '/redirect-urls',
    operationId: 'createRedirectUrl',
    'x-client-method': 'redirectUrls.create',
    summary: 'Add a redirect address',
    description: 'Allows an address with any query. Adding an address again is a no-op.',
    body: jsonContent(newRedirectSchema, newRedirectExamples),
    answers: {
      201: answer('Returns all addresses.', redirectsSchema, {
        examples: redirectsExamples,
        links: {
          Remove: { operationId: 'deleteRedirectUrl', parameters: { url: '$response.body#/data/redirects/0' } },
        },
      }),
    },
  });
  const removeUrl = operation({
    method: 'delete',
    path: '/redirect-urls',
    operationId: 'deleteRedirectUrl',
    'x-client-method': 'redirectUrls.delete',
    summary: 'Remove a redirect address',
    description: 'Removing an address that is not in the list is a no-op.',
    query: z.object({
      url: z
        .string()
        .max(4_096)
        .openapi({ param: { name: 'url', in: 'query', example: exampleRedirect }, description: 'The address.' }),
    }),
    answers: { 200: deletedAnswer('The address is removed.') },
  });

  const authorOf = (c: ApiContext) => c.get('scope').author;
  const idOf = (c: ApiContext) => organizationIds.format(c.get('caller').organizationId);

  const routes = newRoutes();
  routes.openapi(get, async (c) => {
    return c.json(success(shown(await findOwnOrganization(database, c.get('caller').organizationId))), 200);
  });
  routes.openapi(update, async (c) => {
    const { organizationId } = c.get('caller');
    const changed = await changeOwnOrganization(database, organizationId, c.req.valid('json'), authorOf(c));
    return c.json(success(shown(changed)), 200);
  });
  routes.openapi(remove, async (c) => {
    requirePerson(c, 'owner');
    const { organizationId, organizationName } = c.get('caller');
    if (c.req.valid('json').confirm.trim() !== organizationName.trim()) {
      throw invalid([{ path: 'confirm', message: "Expected the organization's name." }]);
    }
    const { id, deletedAt, removedAfter } = await deleteOrganization(database, organizationId, authorOf(c));
    const times = { deletedAt: deletedAt.toISOString(), removedAfter: removedAfter.toISOString() };
    return c.json(success({ id, ...times }), 202);
  });
  routes.openapi(listUrls, async (c) => c.json(success(await listRedirects(database, idOf(c))), 200));
  routes.openapi(addUrl, async (c) => {
    const { url } = c.req.valid('json');
    return c.json(success(await addRedirect(database, idOf(c), url, allowsLoopback, authorOf(c))), 201);
  });
  routes.openapi(removeUrl, async (c) => {
    await removeRedirect(database, idOf(c), c.req.valid('query').url, authorOf(c));
    return c.json(deleted, 200);
  });
  return routes;
}
