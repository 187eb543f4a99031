import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import {
  listToolServers,
  putToolServer,
  removeToolServer,
  type ToolServerView,
} from '../../../../src/tools/configurations.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import {
  serverInPath,
  toolServerChangeExamples,
  toolServerChangeSchema,
  toolServerExamples,
  toolServerListExamples,
  toolServerListSchema,
  toolServerSchema,
} from '../../../schemas/tools/tool-server.ts';

const toAnswer = ({ updatedAt, ...server }: ToolServerView) => ({
  ...server,
  updatedAt: updatedAt?.toISOString() ?? null,
});

// The third of the catalogue needs no values.
const withOne = (serverId: string) => ({
  Configure: { operationId: 'putToolServer', parameters: { serverId } },
  Forget: { operationId: 'deleteToolServer', parameters: { serverId } },
});

export function toolServerRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Tools', key: requireKey(services, 'integrations') });

  const list = operation({
    method: 'get',
    path: '/tools',
    operationId: 'listToolServers',
    'x-client-method': 'tools.list',
    summary: 'List tool servers',
    description: 'Every tool server that chat, agents and steps can name, and how it is configured.',
    key: requireKey(services, 'chat'),
    answers: {
      200: answer('Returns the tool servers.', toolServerListSchema, {
        examples: toolServerListExamples,
        links: withOne('$response.body#/data/servers/2/id'),
      }),
    },
  });
  const put = operation({
    method: 'put',
    path: '/tools/{serverId}',
    operationId: 'putToolServer',
    'x-client-method': 'tools.put',
    summary: 'Configure a tool server',
    description:
      'Configures the server for the environment of the key. In the test environment every server works without a ' +
      'configuration.',
    params: serverInPath,
    body: jsonContent(toolServerChangeSchema, toolServerChangeExamples),
    answers: {
      200: answer('Returns the tool server.', toolServerSchema, {
        examples: toolServerExamples,
        links: withOne('$response.body#/data/id'),
      }),
    },
    failures: [409],
  });
  const remove = operation({
    method: 'delete',
    path: '/tools/{serverId}',
    operationId: 'deleteToolServer',
    'x-client-method': 'tools.delete',
    summary: 'Remove the configuration of a tool server',
    description: 'Its secrets are erased. Files that it stored stay.',
    params: serverInPath,
    answers: { 200: deletedAnswer('The configuration was removed.') },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const servers = await listToolServers(c.get('scope'));
    return c.json(success({ servers: servers.map(toAnswer) }), 200);
  });
  routes.openapi(put, async (c) => {
    const { serverId } = c.req.valid('param');
    return c.json(success(toAnswer(await putToolServer(services, c.get('scope'), serverId, c.req.valid('json')))), 200);
  });
  routes.openapi(remove, async (c) => {
    await removeToolServer(c.get('scope'), c.req.valid('param').serverId);
    return c.json(deleted, 200);
  });
  return routes;
}
