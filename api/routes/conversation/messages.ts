import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { alsoForTokens, checkScopes, requireKey } from '../../middleware/authenticate.ts';
import { newRoutes } from '../../new-routes.ts';
import { operationsOf } from '../../operation.ts';
import { chatFailures, jsonContent, replyAnswer } from '../../schemas/answers.ts';
import { replyFailure } from '../../schemas/conversation/failures.ts';
import { replyEventsExamples, replyExamples, replySchema } from '../../schemas/conversation/replies.ts';
import {
  agentExamples,
  agentSchema,
  chatExamples,
  chatSchema,
  defaultModel,
  readAgentMessage,
  readChat,
} from '../../schemas/conversation/requests.ts';
import { answerMessage } from './answer-message.ts';
import { replyForm as form } from './reply-form.ts';
import { requireFields } from './require-fields.ts';

const description = [
  'Costs 1 credit, and 1 more if tools were called; both are reserved when `mcpServers` names any. A failure costs nothing.',
  '`integration:<id>` among `mcpServers` offers the actions of a connected integration; that needs the scope `integrations` too.',
  'The service does not store conversations: send the earlier messages with each request.',
  'Disconnecting does not cancel a message: the same Idempotency-Key returns the reply for 24 hours, or 409 until there is one.',
  'With `stream` the answer is Server-Sent Events: `delta` {text}, `tool_call` {index, name, args},',
  '`tool_result` {index, name, result, isError}, `thought` {text} for what the model writes beside its calls, and finally',
  '`reply`, which is the `data` of the answer without `stream`, with `creditsUsed`, or `error`, which is the error of that answer.',
  'The deltas together are the content. With tools they are sent when the model has finished, since a call could follow its text.',
].join(' ');

/** The operations that send a message. */
const messageOperations = (services: Services) =>
  operationsOf({ tag: 'Chat', key: alsoForTokens(requireKey(services, 'chat')), failuresOf: chatFailures });

const answers = {
  200: replyAnswer('Returns the reply.', replySchema, { examples: replyExamples, events: replyEventsExamples }),
  500: replyFailure,
};

/** Tools of a feature have the rights of a request with the key, and no more. @throws AppError forbidden */
const checkToolScopes = (c: ApiContext, { tools }: Services, servers: readonly string[] = []): void =>
  checkScopes(c.get('caller'), { scopes: tools.scopesOf(servers) });

export function chatRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const chat = messageOperations(services)({
    method: 'post',
    path: '/',
    operationId: 'chat',
    'x-client-method': 'chat.create',
    summary: 'Chat with a model',
    description,
    body: jsonContent(chatSchema, chatExamples),
    idempotent: true,
    checks: [requireFields('messages')],
    answers,
    failures: [402, 409],
  });
  const routes = newRoutes();
  routes.openapi(chat, async (c) => {
    const body = c.req.valid('json');
    checkToolScopes(c, services, body.mcpServers);
    const { model = defaultModel, stream: streams = false } = body;
    return answerMessage(c, services, { kind: 'chat', model, streams, request: readChat(body), form }) as never;
  });
  return routes;
}

export function agentRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const chat = messageOperations(services)({
    method: 'post',
    path: '/chat',
    operationId: 'chatWithAgent',
    'x-client-method': 'agents.chat',
    summary: 'Chat with an agent',
    description,
    body: jsonContent(agentSchema, agentExamples),
    idempotent: true,
    checks: [requireFields('message', 'systemPrompt')],
    answers,
    failures: [402, 409],
  });
  const routes = newRoutes();
  routes.openapi(chat, async (c) => {
    const body = c.req.valid('json');
    checkToolScopes(c, services, body.mcpServers);
    const { model = defaultModel, stream: streams = false } = body;
    return answerMessage(c, services, {
      kind: 'agent',
      model,
      streams,
      request: readAgentMessage(body),
      form,
    }) as never;
  });
  return routes;
}
