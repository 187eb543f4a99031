import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { deleteSecret, listSecrets, putSecret } from '../../../../src/automation/secrets/secrets.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey, requireKeyOrReader } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import {
  newSecretInPath,
  secretExamples,
  secretInPath,
  secretListExamples,
  secretListSchema,
  secretSchema,
  secretsDescription,
  secretValueExamples,
  secretValueSchema,
  shownSecret,
  shownSecrets,
} from '../../../schemas/automation/secret.ts';
import { pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';

export function secretRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Workflows', key: requireKey(services, 'workflows:write') });

  const list = operation({
    method: 'get',
    path: '/secrets',
    operationId: 'listSecrets',
    'x-client-method': 'secrets.list',
    summary: 'List secrets',
    description:
      'Lists the names of the secrets that steps can send, in alphabetical order. The values are never shown.',
    key: requireKeyOrReader(services, 'member', 'workflows:read'),
    query: z.object(pageQuery),
    answers: {
      200: answer('A page of secrets.', secretListSchema, {
        examples: secretListExamples,
        links: { Put: { operationId: 'putSecret', parameters: { secretName: 'CRM_TOKEN' } } },
      }),
    },
  });
  const put = operation({
    method: 'put',
    path: '/secrets/{secretName}',
    operationId: 'putSecret',
    'x-client-method': 'secrets.put',
    summary: 'Create or replace a secret',
    description: `Stores the value encrypted, for the environment of the key. Steps that start from now on send it. ${secretsDescription}`,
    params: newSecretInPath,
    body: jsonContent(secretValueSchema, secretValueExamples),
    answers: {
      200: answer('Returns the secret without its value.', secretSchema, {
        examples: secretExamples,
        links: { Delete: { operationId: 'deleteSecret', parameters: { secretName: '$response.body#/data/name' } } },
      }),
    },
  });
  const remove = operation({
    method: 'delete',
    path: '/secrets/{secretName}',
    operationId: 'deleteSecret',
    'x-client-method': 'secrets.delete',
    summary: 'Delete a secret',
    description: 'Steps that send it fail from now on with `secret_not_found`.',
    params: secretInPath,
    answers: { 200: deletedAnswer('The secret was deleted.') },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const page = await listSecrets(c.get('scope'), withPageDefaults(c, c.req.valid('query')));
    return c.json(success(shownSecrets(page, c.get('dialect').variant === 'B')), 200);
  });
  routes.openapi(put, async (c) => {
    const { secretName } = c.req.valid('param');
    const secret = await putSecret(services, c.get('scope'), secretName, c.req.valid('json').value);
    return c.json(success(shownSecret(secret)), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteSecret(c.get('scope'), c.req.valid('param').secretName);
    return c.json(deleted, 200);
  });
  return routes;
}
