import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { AppError, invalid } from '../../../../src/platform/errors.ts';
import { catalog, type Services } from '../../../../src/services.ts';
import {
  createOwnKey,
  type KeyAuthority,
  listOwnKeys,
  renameOwnKey,
  revokeOwnKey,
  rotateOwnKey,
} from '../../../../src/tenancy/administration/own-keys.ts';
import type { Caller } from '../../../../src/tenancy/caller.ts';
import { keyIds } from '../../../../src/tenancy/core/ids.ts';
import { announceKeyChange } from '../../../../src/tenancy/key-changes.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { stillAllowed } from '../../../middleware/still-allowed.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import {
  exampleKeyIds,
  issuedKeyExamples,
  issuedKeySchema,
  keyExamples,
  keyListExamples,
  keyListSchema,
  keyNameExamples,
  keyNameSchema,
  keySchema,
  newKeyExamples,
  newKeySchema,
  rotationExamples,
  rotationSchema,
  shownKey,
} from '../../../schemas/account/key.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import { prefixedIdInPath } from '../../../schemas/ids.ts';
import { listOf, pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';

/** A person gives every scope and both environments; a key gives its own. */
const authorityOf = ({ session, environment, scopes, expiresAt }: Caller): KeyAuthority =>
  session
    ? { environment: undefined, scopes: catalog.scopes, expiresAt: null }
    : { environment, scopes, expiresAt: expiresAt === null ? null : new Date(expiresAt) };

function parseId(text: string): string {
  const id = keyIds.parse(text);
  if (id === undefined) throw new AppError('not_found', 'No key has this id.', { resource: 'api_key' });
  return id;
}

/** The keys of an organization. */
export function keyRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { database, sealer } = services;
  const operation = operationsOf({ tag: 'Keys', key: requireKey(services, 'keys') });
  const params = prefixedIdInPath('keyId', exampleKeyIds);
  const checks = [stillAllowed(services)];

  const list = operation({
    method: 'get',
    path: '/keys',
    operationId: 'listKeys',
    'x-client-method': 'keys.list',
    summary: 'List API keys',
    description:
      'The keys of the environment, newest first, without their secrets. A session sees the keys of both environments.',
    query: z.object(pageQuery),
    answers: {
      200: answer('A page of keys.', keyListSchema, {
        examples: keyListExamples,
        links: { Rename: { operationId: 'updateKey', parameters: { keyId: '$response.body#/data/keys/0/id' } } },
      }),
    },
  });
  const create = operation({
    method: 'post',
    path: '/keys',
    operationId: 'createKey',
    'x-client-method': 'keys.create',
    summary: 'Create an API key',
    description:
      'Returns the key, once. The caller must have every scope and the environment that the new key gets. A key cannot create a key that outlives it.',
    body: jsonContent(newKeySchema, newKeyExamples),
    idempotent: true,
    checks,
    answers: {
      201: answer('Returns the key.', issuedKeySchema, {
        examples: issuedKeyExamples,
        links: {
          Rotate: { operationId: 'rotateKey', parameters: { keyId: '$response.body#/data/id' } },
          Find: { operationId: 'search', parameters: { q: '$response.body#/data/name' } },
          Delete: { operationId: 'deleteKey', parameters: { keyId: '$response.body#/data/id' } },
        },
        replayable: true,
      }),
    },
  });
  const update = operation({
    method: 'patch',
    path: '/keys/{keyId}',
    operationId: 'updateKey',
    'x-client-method': 'keys.update',
    summary: 'Rename an API key',
    description: 'Changes the name. The scopes of a key never change.',
    params,
    body: jsonContent(keyNameSchema, keyNameExamples),
    answers: { 200: answer('Returns the key without its secret.', keySchema, { examples: keyExamples }) },
  });
  const rotate = operation({
    method: 'post',
    path: '/keys/{keyId}/rotate',
    operationId: 'rotateKey',
    'x-client-method': 'keys.rotate',
    summary: 'Rotate an API key',
    description:
      'Returns a new key with the name, scopes, environment and expiration of the old one. The old key stays valid for the overlap, and cannot be rotated again (409). A key cannot rotate a key that outlives it (403).',
    params,
    body: jsonContent(rotationSchema, rotationExamples),
    idempotent: true,
    checks,
    failures: [409],
    answers: {
      201: answer('Returns the new key.', issuedKeySchema, {
        examples: issuedKeyExamples,
        links: { Delete: { operationId: 'deleteKey', parameters: { keyId: '$response.body#/data/id' } } },
        replayable: true,
      }),
    },
  });
  const remove = operation({
    method: 'delete',
    path: '/keys/{keyId}',
    operationId: 'deleteKey',
    'x-client-method': 'keys.delete',
    summary: 'Revoke an API key',
    description:
      'The key is refused everywhere as soon as this request is answered. It stays in the list as `revoked`.',
    params,
    answers: { 200: deletedAnswer('The key is revoked.') },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const page = await listOwnKeys(
      c.get('scope'),
      authorityOf(c.get('caller')),
      withPageDefaults(c, c.req.valid('query')),
    );
    return c.json(success(listOf('keys', page, (key) => shownKey(key))), 200);
  });
  routes.openapi(create, async (c) => {
    const { expiresAt, scopes, ...given } = c.req.valid('json');
    const unknown = (scopes ?? []).find((scope) => !catalog.scopes.includes(scope));
    if (unknown !== undefined) {
      throw invalid([{ path: 'scopes', message: `Expected some of ${catalog.scopes.join(', ')}.` }]);
    }
    const asked = { ...given, scopes, ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }) };
    const once = { claim: readIdempotency(c), sealer };
    const { outcome, replayed } = await createOwnKey(c.get('scope'), authorityOf(c.get('caller')), asked, once);
    markReplayed(c, replayed);
    return c.json(success({ ...shownKey(outcome), key: outcome.key }), 201);
  });
  routes.openapi(update, async (c) => {
    const id = parseId(c.req.valid('param').keyId);
    const { name } = c.req.valid('json');
    return c.json(success(shownKey(await renameOwnKey(c.get('scope'), authorityOf(c.get('caller')), id, name))), 200);
  });
  routes.openapi(rotate, async (c) => {
    const id = parseId(c.req.valid('param').keyId);
    const { overlapSeconds } = c.req.valid('json');
    const once = { claim: readIdempotency(c), sealer };
    const scope = c.get('scope');
    const authority = authorityOf(c.get('caller'));
    const { outcome, replayed } = await rotateOwnKey(scope, authority, id, overlapSeconds, once);
    await announceKeyChange(database, scope.tenant.organizationId);
    markReplayed(c, replayed);
    return c.json(success({ ...shownKey(outcome), key: outcome.key }), 201);
  });
  routes.openapi(remove, async (c) => {
    const id = parseId(c.req.valid('param').keyId);
    const scope = c.get('scope');
    await revokeOwnKey(scope, authorityOf(c.get('caller')), id);
    await announceKeyChange(database, scope.tenant.organizationId);
    return c.json(deleted, 200);
  });
  return routes;
}
