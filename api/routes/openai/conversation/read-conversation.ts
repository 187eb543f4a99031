import { z } from '@hono/zod-openapi';
import { findMessage } from '../../../../src/conversation/messages.ts';
import type { AnsweredCalls, Message, MessageRequest } from '../../../../src/conversation/sealed-message.ts';
import { defineId } from '../../../../src/platform/core/ids.ts';
import type { Scope } from '../../../../src/platform/database/scope.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import type { JsonSchema, ToolDeclaration } from '../../../../src/providers/index.ts';
import type { Services } from '../../../../src/services.ts';
import type { WorkflowModels } from '../workflow-models.ts';

/** A call of a tool of the caller, as it was answered and comes back. */
export interface ReturnedCall {
  id: string;
  name: string;
  /** JSON, as it was answered. */
  args: string;
}

/** One entry of a conversation, whatever the endpoint calls it, and its position in the request. */
export type Entry = { path: string } & (
  | { role: 'system' | 'user'; text: string }
  | { role: 'assistant'; text: string; calls: ReturnedCall[] }
  | { role: 'tool'; callId: string; text: string }
);

/** Bytes of the earlier answers with calls that one request continues from. They may be as large as a provider made them. */
const maxEarlierBytes = 4 * 1024 * 1024;

/** Earlier answers with calls in one request: each is looked up. */
const maxEarlier = 100;

const callIds = defineId('call');
const wrong = (path: string, message: string) => invalid([{ path, message }]);

/** The id of a call, from which the answer is found again that made it. */
export const callIdOf = (messageId: string, position: number): string => `${callIds.format(messageId)}_${position}`;

/** The arguments of a call. Arguments that are not a JSON object are passed on up to the stored length. */
export const argumentsOf = ({ args, unreadable }: { args: object; unreadable?: string }): string =>
  unreadable ?? JSON.stringify(args);

const messageOfCall = (id: string): string | undefined => callIds.parse(id.slice(0, id.lastIndexOf('_')));

/** An answer of the model that called tools, and what these returned. */
interface ExecutedCalls {
  path: string;
  calls: ReturnedCall[];
  results: { callId: string; text: string }[];
}

/** Finds the answer whose calls return, because its provider needs it unchanged. */
async function earlierAnswer(
  { sealer }: Services,
  scope: Scope,
  model: string,
  { path, calls, results }: ExecutedCalls,
): Promise<AnsweredCalls> {
  const messageId = messageOfCall(calls[0]!.id);
  const message = messageId && (await findMessage(sealer, scope, messageId));
  const asked = message ? message.reply?.asked : undefined;
  if (!message || !asked) throw wrong(path, 'No answer of the last 24 hours made these calls.');
  if (message.model !== model)
    throw wrong('model', `The model ${message.model} made the calls: it continues from them.`);
  const isSame =
    asked.calls.length === calls.length &&
    asked.calls.every((call, position) => {
      const { id, name, args } = calls[position]!;
      return id === callIdOf(message.id, position) && name === call.name && args === argumentsOf(call);
    });
  if (!isSame) throw wrong(path, 'Send the calls back as they were answered.');
  const resultOf = (position: number) => {
    const given = results.filter(({ callId }) => callId === callIdOf(message.id, position));
    if (given.length !== 1) throw wrong(path, 'Each call must be followed by one result.');
    return given[0]!.text;
  };
  return {
    role: 'calls',
    content: asked.content,
    results: asked.calls.map(({ id: callId, name }, position) => ({
      callId,
      name,
      text: resultOf(position),
      isError: false,
    })),
  };
}

/** The entries without the instructions, which must come first: together they are the model's system prompt. */
function withoutInstructions(entries: readonly Entry[]): { system: string; rest: Entry[] } {
  const first = entries.findIndex(({ role }) => role !== 'system');
  const rest = first < 0 ? [] : entries.slice(first);
  const late = rest.find(({ role }) => role === 'system');
  if (late) throw wrong(`${late.path}.role`, 'Instructions are only supported before all other messages.');
  const instructions = entries.slice(0, entries.length - rest.length);
  return { system: instructions.map((one) => ('text' in one ? one.text : '')).join('\n\n'), rest };
}

/** The conversation, in the form of our own messages. @throws AppError validation_error with the parameter */
async function readMessages(
  services: Services,
  scope: Scope,
  model: string,
  entries: readonly Entry[],
): Promise<MessageRequest['messages']> {
  const messages: MessageRequest['messages'] = [];
  let [earlier, bytes] = [0, 0];
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at]!;
    if (entry.role === 'tool') throw wrong(entry.path, 'A result must follow the calls that it belongs to.');
    if (entry.role !== 'assistant' || entry.calls.length === 0) {
      if (entry.text.trim() === '')
        throw wrong(`${entry.path}.content`, 'Expected at least one character that is not a space.');
      messages.push({ role: entry.role as Message['role'], content: entry.text });
      continue;
    }
    if (++earlier > maxEarlier) throw wrong(entry.path, `Expected at most ${maxEarlier} answers with calls.`);
    const results: ExecutedCalls['results'] = [];
    for (let next = entries[at + 1]; next?.role === 'tool'; next = entries[at + 1]) {
      results.push(next);
      at++;
    }
    if (results.length !== entry.calls.length) throw wrong(entry.path, 'Each call must be followed by one result.');
    const answer = await earlierAnswer(services, scope, model, { path: entry.path, calls: entry.calls, results });
    bytes += Buffer.byteLength(JSON.stringify(answer.content));
    if (bytes > maxEarlierBytes)
      throw wrong(entry.path, `The answers with calls are larger than ${maxEarlierBytes} bytes.`);
    messages.push(answer);
  }
  return messages;
}

/** A conversation as an endpoint has read it. */
export interface Conversation {
  model: string;
  entries: readonly Entry[];
  /** The parameter that has the entries. */
  path: string;
  temperature: number | undefined;
  maxTokens: number | undefined;
  tools: ToolDeclaration[];
  /** The form of the answer, and the parameter that has it. */
  output: { path: string; schema: JsonSchema } | undefined;
}

/** @throws AppError validation_error with the parameter */
export async function readConversation(
  services: Services,
  scope: Scope,
  { findSchemaProblem }: Pick<WorkflowModels, 'findSchemaProblem'>,
  { model, entries, path, temperature, maxTokens, tools, output }: Conversation,
): Promise<MessageRequest> {
  const { system, rest } = withoutInstructions(entries);
  if (rest.length === 0 || rest.at(-1)!.role === 'assistant') {
    throw wrong(path, 'The last message must be of the user, or the result of a tool.');
  }
  if (new Set(tools.map(({ name }) => name)).size < tools.length) throw wrong('tools', 'Two tools have the same name.');
  const problem = output && (await findSchemaProblem(services, scope, output.schema));
  if (problem) throw wrong(output.path, problem);
  return {
    messages: await readMessages(services, scope, model, rest),
    ...(system !== '' && { system }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(tools.length > 0 && { tools }),
    ...(output && { outputSchema: output.schema }),
    servers: [],
  };
}

/** The temperature of our models. */
export const temperature = z.number().min(0).max(1).nullish();
export const tokenLimit = z.int().min(1).max(1_000_000).nullish();
