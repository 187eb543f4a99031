import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { checkScopes, requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { keysAlone } from '../../../middleware/keys-alone.ts';
import { newRoutes } from '../../../new-routes.ts';
import { countedList } from '../../../schemas/counted-list.ts';
import { answerMessage } from '../../conversation/answer-message.ts';
import { readBody } from '../read-body.ts';
import { bookkeeping, callerFunction, jsonForm, maxMessages, maxParts, maxTools } from '../shared-fields.ts';
import { noInput, notOfWorkflows, type WorkflowModels, workflowOf } from '../workflow-models.ts';
import { completionForm, runCompletion } from './completion-form.ts';
import { type Entry, readConversation, temperature, tokenLimit } from './read-conversation.ts';

const part = z.strictObject({ type: z.literal('text'), text: z.string() });
const content = z.union([z.string(), countedList(z.array(part).min(1), maxParts)]);
const call = z.strictObject({
  id: z.string().max(200),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
});

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['system', 'developer', 'user']), content }),
  z.strictObject({
    role: z.literal('assistant'),
    content: content.nullish(),
    refusal: z.null().optional(),
    // What our own answers have, so that they can be sent back.
    annotations: z.array(z.never()).optional(),
    tool_calls: countedList(z.array(call), maxTools).optional(),
  }),
  z.strictObject({ role: z.literal('tool'), tool_call_id: z.string().max(200), content }),
]);

const schema = z.strictObject({
  model: z.string().min(1).max(200),
  messages: countedList(z.array(message).min(1), maxMessages),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_usage: z.boolean().optional() }).nullish(),
  temperature,
  max_tokens: tokenLimit,
  max_completion_tokens: tokenLimit,
  n: z.literal(1).nullish(),
  tools: countedList(
    z.array(z.strictObject({ type: z.literal('function'), function: z.strictObject(callerFunction) })),
    maxTools,
  ).optional(),
  tool_choice: z.enum(['auto', 'none']).optional(),
  parallel_tool_calls: z.literal(true).optional(),
  response_format: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('json_schema'), json_schema: z.strictObject(jsonForm) }),
    ])
    .optional(),
  store: z.boolean().nullish(),
  ...bookkeeping,
});
type Body = z.output<typeof schema>;

const textOf = (given: z.output<typeof content> | null | undefined): string =>
  typeof given === 'object' ? (given ?? []).map(({ text }) => text).join('') : (given ?? '');

function entryOf(given: Body['messages'][number], index: number): Entry {
  const path = `messages.${index}`;
  const text = textOf(given.content);
  switch (given.role) {
    case 'assistant': {
      const calls = (given.tool_calls ?? []).map((one) => ({
        id: one.id,
        name: one.function.name,
        args: one.function.arguments,
      }));
      return { path, role: 'assistant', text, calls };
    }
    case 'tool':
      return { path, role: 'tool', callId: given.tool_call_id, text };
    default:
      return { path, role: given.role === 'user' ? 'user' : 'system', text };
  }
}

/** The parts of a request without meaning for a workflow. */
const ofModels = ['temperature', 'max_tokens', 'max_completion_tokens', 'tools', 'response_format'] as const;

async function answerByWorkflow(
  c: ApiContext,
  services: Services,
  workflows: WorkflowModels,
  workflowId: string,
  body: Body,
): Promise<Response> {
  for (const name of ofModels) if (body[name] != null) throw notOfWorkflows(name);
  const input = body.messages.findLast(({ role }) => role === 'user');
  if (!input) throw noInput('messages');
  const variables = body.metadata ?? {};
  const run = await workflows.run(c, services, workflowId, { input: textOf(input.content), variables });
  return runCompletion(c, run, { model: body.model, streams: body.stream ?? false });
}

/** `POST /chat/completions`: a message of ours, or a run of a workflow. */
export function chatCompletionRoutes(services: Services, workflows: WorkflowModels): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  routes.post('/chat/completions', keysAlone, requireKey(services), jsonBody(), async (c) => {
    const body = readBody(c, schema);
    const { model, stream, stream_options: options, response_format: format } = body;
    const workflowId = workflowOf(model);
    if (workflowId !== undefined) return answerByWorkflow(c, services, workflows, workflowId, body);
    checkScopes(c.get('caller'), { scopes: ['chat'] });
    const tools = (body.tool_choice === 'none' ? [] : (body.tools ?? [])).map((one) => one.function);
    const request = await readConversation(services, c.get('scope'), workflows, {
      model,
      entries: body.messages.map(entryOf),
      path: 'messages',
      temperature: body.temperature ?? undefined,
      maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        description: description ?? '',
        inputSchema: parameters ?? { type: 'object', properties: {} },
      })),
      output:
        format?.type === 'json_schema'
          ? { path: 'response_format.json_schema.schema', schema: format.json_schema.schema }
          : undefined,
    });
    const form = completionForm(model, { includesUsage: options?.include_usage ?? false });
    return answerMessage(c, services, { kind: 'chat', model, streams: stream ?? false, request, form });
  });
  return routes;
}
