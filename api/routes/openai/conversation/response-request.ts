import { z } from '@hono/zod-openapi';
import type { MessageAbout } from '../../../../src/conversation/sealed-message.ts';
import { countedList } from '../../../schemas/counted-list.ts';
import { bookkeeping, callerFunction, jsonForm, maxMessages, maxParts, maxTools } from '../shared-fields.ts';
import { type Entry, type ReturnedCall, temperature, tokenLimit } from './read-conversation.ts';

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
export type Item = z.output<typeof said> | z.output<typeof called>;

/** The body of a request for a response. */
export const responseRequest = z.strictObject({
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
export type ResponseRequest = z.output<typeof responseRequest>;

/** The data of a request that its response repeats. */
export const aboutOf = (body: ResponseRequest): MessageAbout => ({
  background: body.background ?? false,
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  metadata: body.metadata ?? {},
  prompt_cache_key: body.prompt_cache_key ?? null,
  safety_identifier: body.safety_identifier ?? null,
  store: body.store ?? true,
  // The default of the models.
  temperature: body.temperature ?? 1,
  text: { format: body.text?.format ?? { type: 'text' } },
  tools: (body.tools ?? []).map(({ type, name, description, parameters, strict }) => ({
    type,
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  })),
  user: body.user ?? null,
});

/** The text of a message. */
export const textOf = (content: string | { text: string }[]): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('');

/** The items as entries. Calls that follow each other, and the text before them, are one answer. */
export function entriesOf(items: readonly Item[]): Entry[] {
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
