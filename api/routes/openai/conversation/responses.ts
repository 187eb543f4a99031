import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { createMessage } from '../../../../src/conversation/create-message.ts';
import { messageJob } from '../../../../src/conversation/job.ts';
import { findMessage, type StoredMessage } from '../../../../src/conversation/messages.ts';
import type { MessageAbout } from '../../../../src/conversation/sealed-message.ts';
import { resourceDeleted } from '../../../../src/platform/database/idempotency.ts';
import { AppError, invalid } from '../../../../src/platform/errors.ts';
import { newId } from '../../../../src/platform/ids.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { keysAlone } from '../../../middleware/keys-alone.ts';
import { newRoutes } from '../../../new-routes.ts';
import { countedList } from '../../../schemas/counted-list.ts';
import { answerMessage, type MessageToAnswer } from '../../conversation/answer-message.ts';
import { readBody } from '../read-body.ts';
import { bookkeeping, callerFunction, jsonForm, maxMessages, maxParts, maxTools } from '../shared-fields.ts';
import { type WorkflowModels, workflowOf } from '../workflow-models.ts';
import { type Entry, type ReturnedCall, readConversation, temperature, tokenLimit } from './read-conversation.ts';
import { responseForm, responseIds, responseOf } from './response-form.ts';

const id = z.string().max(200).nullish();
const status = z.enum(['completed', 'incomplete', 'in_progress']).nullish();
const list = <Part extends z.ZodType>(part: Part) => z.union([z.string(), countedList(z.array(part).min(1), maxParts)]);

const said = z.discriminatedUnion('role', [
  z.strictObject({
    type: z.literal('message').optional(),
    role: z.enum(['system', 'developer', 'user']),
    content: list(z.strictObject({ type: z.literal('input_text'), text: z.string() })),
    status,
  }),
  z.strictObject({
    type: z.literal('message').optional(),
    role: z.literal('assistant'),
    content: list(
      z.strictObject({
        type: z.literal('output_text'),
        text: z.string(),
        // What our own answers have, so that they can be sent back.
        annotations: z.array(z.never()).optional(),
        logprobs: z.array(z.never()).optional(),
      }),
    ),
    id,
    status,
  }),
]);
const called = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('function_call'),
    call_id: z.string().max(200),
    name: z.string(),
    arguments: z.string(),
    id,
    status,
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    call_id: z.string().max(200),
    output: z.string(),
    id,
    status,
  }),
]);
type Item = z.output<typeof said> | z.output<typeof called>;

const schema = z.strictObject({
  model: z.string().min(1).max(200),
  input: z.union([
    z.string().regex(/\S/, 'Expected at least one character that is not a space.'),
    countedList(z.array(z.union([said, called])).min(1), maxMessages),
  ]),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish(),
  store: z.boolean().nullish(),
  temperature,
  max_output_tokens: tokenLimit,
  tools: countedList(z.array(z.strictObject({ type: z.literal('function'), ...callerFunction })), maxTools).optional(),
  tool_choice: z.enum(['auto', 'none']).optional(),
  parallel_tool_calls: z.literal(true).nullish(),
  truncation: z.literal('disabled').nullish(),
  text: z
    .strictObject({
      format: z
        .discriminatedUnion('type', [
          z.strictObject({ type: z.literal('text') }),
          z.strictObject({ type: z.literal('json_schema'), ...jsonForm }),
        ])
        .optional(),
    })
    .optional(),
  ...bookkeeping,
});
type Body = z.output<typeof schema>;

/** What a response says of its request. */
const aboutOf = (body: Body): MessageAbout => ({
  background: body.background ?? false,
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  metadata: body.metadata ?? {},
  store: body.store ?? true,
  temperature: body.temperature ?? null,
  text: { format: body.text?.format ?? { type: 'text' } },
  tools: body.tools ?? [],
});

const textOf = (content: string | { text: string }[]): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('');

/** The items as entries. Calls that follow each other, and the text before them, are one answer. */
function entriesOf(items: readonly Item[]): Entry[] {
  const entries: Entry[] = [];
  for (const [index, item] of items.entries()) {
    const path = `input.${index}`;
    if (item.type === 'function_call') {
      const last = entries.at(-1);
      const call: ReturnedCall = { id: item.call_id, name: item.name, args: item.arguments };
      if (last?.role === 'assistant') last.calls.push(call);
      else entries.push({ path, role: 'assistant', text: '', calls: [call] });
    } else if (item.type === 'function_call_output') {
      entries.push({ path, role: 'tool', callId: item.call_id, text: item.output });
    } else if (item.role === 'assistant') {
      entries.push({ path, role: 'assistant', text: textOf(item.content), calls: [] });
    } else {
      entries.push({ path, role: item.role === 'user' ? 'user' : 'system', text: textOf(item.content) });
    }
  }
  return entries;
}

async function readRequest(c: ApiContext, services: Services, workflows: WorkflowModels, body: Body) {
  const { input, instructions, text } = body;
  const entries: Entry[] =
    typeof input === 'string' ? [{ path: 'input', role: 'user', text: input }] : entriesOf(input);
  const tools = body.tool_choice === 'none' ? [] : (body.tools ?? []);
  const format = text?.format;
  return readConversation(services, c.get('scope'), workflows, {
    model: body.model,
    entries: instructions ? [{ path: 'instructions', role: 'system', text: instructions }, ...entries] : entries,
    path: 'input',
    temperature: body.temperature ?? undefined,
    maxTokens: body.max_output_tokens ?? undefined,
    tools: tools.map(({ name, description, parameters }) => ({
      name,
      description: description ?? '',
      inputSchema: parameters ?? { type: 'object', properties: {} },
    })),
    output: format?.type === 'json_schema' ? { path: 'text.format.schema', schema: format.schema } : undefined,
  });
}

/** Creates a message that its caller reads later. */
async function createLater(c: ApiContext, services: Services, asked: MessageToAnswer): Promise<Response> {
  const scope = c.get('scope');
  const { id: messageId, replayed } = await createMessage(services, scope, {
    id: newId(),
    plan: c.get('caller').plan,
    ...asked,
    waiter: services.messageEvents.channel,
    idempotency: readIdempotency(c),
  });
  const message = await findMessage(services.sealer, scope, messageId);
  if (!message) throw resourceDeleted();
  markReplayed(c, replayed);
  return c.json(responseOf(message, message.about ?? {}));
}

/** @throws AppError not_found */
async function findResponse(c: ApiContext, { sealer }: Services): Promise<StoredMessage & { about: MessageAbout }> {
  const messageId = responseIds.parse(c.req.param('id')!);
  const message = messageId && (await findMessage(sealer, c.get('scope'), messageId));
  const about = message ? message.about : undefined;
  if (!message || !about) throw new AppError('not_found', 'No response has this id.');
  return { ...message, about };
}

/** `/responses`: messages of ours, which can be read by their ids for 24 hours. */
export function responseRoutes(services: Services, workflows: WorkflowModels): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  const key = requireKey(services, 'chat');
  routes.post('/responses', keysAlone, key, jsonBody(), async (c) => {
    const body = readBody(c, schema);
    const { model, stream, background } = body;
    if (workflowOf(model) !== undefined) {
      throw invalid([{ path: 'model', message: 'Workflows are models of /chat/completions.' }]);
    }
    if (background && body.store === false) {
      throw invalid([{ path: 'store', message: 'What is answered in the background must be stored.' }]);
    }
    const about = aboutOf(body);
    const asked: MessageToAnswer = {
      kind: 'chat',
      model,
      streams: stream ?? false,
      request: await readRequest(c, services, workflows, body),
      form: responseForm(model, about),
      about: body.store === false ? undefined : about,
    };
    return background && !stream ? createLater(c, services, asked) : answerMessage(c, services, asked);
  });
  routes.get('/responses/:id', keysAlone, key, async (c) => {
    const message = await findResponse(c, services);
    return c.json(responseOf(message, message.about));
  });
  routes.post('/responses/:id/cancel', keysAlone, key, async (c) => {
    const { id: messageId, about } = await findResponse(c, services);
    if (about.background !== true)
      throw invalid([{ path: 'id', message: 'The response is not made in the background.' }]);
    await messageJob.cancel(services, c.get('scope'), messageId);
    return c.json(responseOf(await findResponse(c, services), about));
  });
  return routes;
}
