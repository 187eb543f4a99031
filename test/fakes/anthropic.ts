import { instanceOf } from '../../src/providers/sandbox/instance.ts';
import { Signatures } from './signatures.ts';
import {
  bearer,
  countTokens,
  type Dialect,
  type FakeProvider,
  type Json,
  piecesOf,
  type Received,
  type Said,
  startWireServer,
  unknownFields,
  type WireAnswer,
} from './wire-server.ts';

let requests = 0;
const requestId = () => `req_${String(++requests).padStart(24, '0')}`;

/** An error as Anthropic writes it. */
export function anthropicError(
  status: number,
  type: string,
  message: string,
  { headers, details }: { headers?: Record<string, string>; details?: object } = {},
): WireAnswer {
  const request_id = requestId();
  return {
    status,
    headers: { 'request-id': request_id, ...headers },
    body: { type: 'error', error: { type, message, ...(details && { details }) }, request_id },
  };
}

const invalid = (message: string) => anthropicError(400, 'invalid_request_error', message);

const fields = [
  'model',
  'max_tokens',
  'messages',
  'system',
  'stop_sequences',
  'stream',
  'metadata',
  'thinking',
  'tools',
  'tool_choice',
  'output_config',
  'service_tier',
  'temperature',
  'top_p',
  'top_k',
];
const sampling = ['temperature', 'top_p', 'top_k'];
const retired = /^claude-(2|3|instant|sonnet-4-20250514|opus-4-20250514)/;
/** Models that know no temperature, in any version of the API. */
const withoutSampling = /^claude-[a-z]+-(5|4-[78])/;

function refuseSchema(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  const { type, additionalProperties } = schema as Record<string, unknown>;
  if (type === 'object' && additionalProperties !== false) {
    return "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false";
  }
  const unsupported = unknownFields(schema, []).find((name) => /^(minLength|maxLength|minimum|maximum)$/.test(name));
  if (unsupported && typeof type === 'string') return `output_config.format.schema: '${unsupported}' is not supported`;
  return Object.values(schema).map(refuseSchema).find(Boolean);
}

// biome-ignore lint/suspicious/noExplicitAny: whatever a request holds
type Any = any;

const blocksOf = ({ content }: Any): Any[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;
const ofType = (blocks: Any[], type: string) => blocks.filter((block) => block.type === type);
const textOf = (message: Any) =>
  blocksOf(message)
    .map(({ text, content, type }) => text ?? (type === 'tool_result' ? content : ''))
    .join('');

/** Results follow their calls, and the thoughts in front of calls are as they were written. */
function refuseHistory(signatures: Signatures, { messages, tools }: Any): WireAnswer | undefined {
  const history: { signature: string; said: unknown }[] = [];
  for (const [index, message] of messages.entries()) {
    const blocks = blocksOf(message);
    const called = ofType(blocks, 'tool_use');
    if (called.length === 0) continue;
    if (!tools) return invalid('Requests which include `tool_use` or `tool_result` blocks must define tools.');
    const results = ofType(blocksOf(messages[index + 1] ?? { content: [] }), 'tool_result');
    const missing = called.filter(({ id }) => !results.some(({ tool_use_id }) => tool_use_id === id));
    if (missing.length > 0) {
      const ids = missing.map(({ id }) => id).join(', ');
      return invalid(`messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks: ${ids}`);
    }
    const [first] = blocks;
    if (first.type !== 'thinking') {
      return invalid(`messages.${index}.content.0.type: Expected \`thinking\`, but found \`${first.type}\`.`);
    }
    history.push({ signature: first.signature, said: [first.thinking, called] });
  }
  if (signatures.accept(history)) return undefined;
  return invalid('messages.1.content.0: Invalid `signature` in `thinking` block');
}

/** Users and assistants alternate, beginning with a user. */
function refuseOrder(messages: Any[]): WireAnswer | undefined {
  const wrong = messages.find(({ role }, n) => role !== (n % 2 === 0 ? 'user' : 'assistant'));
  return wrong && invalid('messages: roles must alternate between "user" and "assistant"');
}

function refuse({ headers, body }: Received): WireAnswer | undefined {
  const version = headers['anthropic-version'];
  if (version === undefined) return invalid('anthropic-version: header is required');
  if (typeof body?.model !== 'string') return invalid('model: Field required');
  if (!Number.isInteger(body.max_tokens) || body.max_tokens < 0) return invalid('max_tokens: Field required');
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    return invalid('messages: at least one message is required');
  }
  if (body.messages.some((message: Any) => blocksOf(message).some(({ text }) => text === ''))) {
    return invalid('messages.0: user messages must have non-empty content');
  }
  const known = version === '2023-06-01' ? fields : fields.filter((name) => !sampling.includes(name));
  const [extra] = unknownFields(body, known);
  if (extra) return invalid(`${extra}: Extra inputs are not permitted`);
  if (retired.test(body.model)) return anthropicError(404, 'not_found_error', `model: ${body.model}`);
  if (body.temperature !== undefined && withoutSampling.test(body.model)) {
    return invalid('`temperature` is deprecated for this model.');
  }
  if (body.thinking?.type === 'disabled' && /-5-5$/.test(body.model)) {
    return invalid('"thinking.type.disabled" is not supported for this model.');
  }
  const problem = refuseSchema(body.output_config?.format?.schema);
  return problem ? invalid(problem) : undefined;
}

/** What is streamed in place of the input of a call, by its id. */
const rawInputs = new Map<string, string>();

const stopReasons = { finished: 'end_turn', limit: 'max_tokens', refused: 'refusal' };

function say(signatures: Signatures, { body }: Received, said: Said): WireAnswer {
  const prompt = body.messages.map(textOf).join('\n');
  const schema = body.output_config?.format?.schema;
  const echo = `Claude read: ${prompt}`;
  const { cachedTokens = 0, thinkingTokens = 0, end = 'finished', calls = [] } = said;
  const text = said.text ?? (calls.length > 0 ? '' : schema ? JSON.stringify(instanceOf(schema, echo)) : echo);
  const called = calls.map(({ id, name, args }) => ({
    type: 'tool_use',
    id: id ?? `toolu_${requestId().slice(-6)}`,
    name,
    input: args,
  }));
  for (const [n, { rawArgs }] of calls.entries()) if (rawArgs !== undefined) rawInputs.set(called[n]!.id, rawArgs);
  const thoughts = 'I need a tool.';
  const signed = called.length > 0 ? signatures.sign([thoughts, called]) : 'c2lnbmF0dXJl';
  const input = said.inputTokens ?? countTokens((body.system ?? '') + prompt);
  const isThinking = thinkingTokens > 0 || called.length > 0;
  const thinking = { type: 'thinking', thinking: called.length > 0 ? thoughts : '', signature: signed };
  return {
    status: 200,
    headers: { 'request-id': requestId() },
    body: {
      id: `msg_${requestId().slice(4)}`,
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: [...(isThinking ? [thinking] : []), ...(text === '' ? [] : [{ type: 'text', text }]), ...called],
      stop_reason: called.length > 0 && end === 'finished' ? 'tool_use' : stopReasons[end],
      stop_sequence: null,
      usage: {
        input_tokens: input - cachedTokens,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: cachedTokens,
        output_tokens: said.outputTokens ?? countTokens(text),
        output_tokens_details: { thinking_tokens: thinkingTokens },
        service_tier: 'standard',
      },
    },
  };
}

const deltaOf = (index: number, delta: Json) => ({ type: 'content_block_delta', index, delta });

/** A block as its events: it begins empty, and signatures and inputs come last. */
function blockEvents(block: Any, index: number): Json[] {
  const begin: Record<string, Json> = {
    text: { type: 'text', text: '' },
    thinking: { type: 'thinking', thinking: '', signature: '' },
    tool_use: { ...block, input: {} },
  };
  const deltas: Record<string, () => Json[]> = {
    text: () => piecesOf(block.text).map((text) => ({ type: 'text_delta', text })),
    thinking: () => [
      ...piecesOf(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: block.signature },
    ],
    tool_use: () =>
      piecesOf(rawInputs.get(block.id) ?? JSON.stringify(block.input)).map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      })),
  };
  return [
    { type: 'content_block_start', index, content_block: begin[block.type] },
    ...deltas[block.type]!().map((delta) => deltaOf(index, delta)),
    { type: 'content_block_stop', index },
  ];
}

function stream({ body }: Received, answer: WireAnswer): Json[] | undefined {
  if (!body.stream) return undefined;
  const { content, usage, stop_reason, ...message } = answer.body as Any;
  const { output_tokens } = usage;
  return [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    { type: 'ping' },
    ...content.flatMap(blockEvents),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } },
    { type: 'message_stop' },
  ];
}

const dialectOf = (signatures: Signatures): Dialect => ({
  isRoute: (method, { pathname }) => method === 'POST' && pathname === '/v1/messages',
  keyOf: (headers) => (headers['x-api-key'] as string | undefined) ?? bearer(headers),
  notFound: anthropicError(404, 'not_found_error', 'Not found'),
  wrongKey: anthropicError(401, 'authentication_error', 'invalid x-api-key'),
  refuse: (received) =>
    refuse(received) ?? refuseOrder(received.body.messages) ?? refuseHistory(signatures, received.body),
  say: (received, said) => say(signatures, received, said),
  stream,
  delta: (text) => deltaOf(0, { type: 'text_delta', text }),
  frame: (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
});

/** Anthropic's Messages API. */
export const startFakeAnthropic = (apiKey = 'sk-ant-fake-0123456789'): Promise<FakeProvider> =>
  startWireServer(dialectOf(new Signatures()), apiKey);
