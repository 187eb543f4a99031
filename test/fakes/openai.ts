import { instanceOf } from '../../src/providers/sandbox/instance.ts';
import {
  bearer,
  countTokens,
  type Dialect,
  dataFrame,
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
const requestId = () => `req_${String(++requests).padStart(32, '0')}`;

/** An error as OpenAI writes it. */
export const openaiError = (
  status: number,
  error: { message: string; type: string; param?: string | null; code?: string | null },
  headers?: Record<string, string>,
): WireAnswer => ({
  status,
  headers: { 'x-request-id': requestId(), ...headers },
  body: { error: { param: null, code: null, ...error } },
});

const invalid = (message: string, param: string, code: string | null = null) =>
  openaiError(400, { message, type: 'invalid_request_error', param, code });

const fields = [
  'model',
  'messages',
  'temperature',
  'top_p',
  'n',
  'stop',
  'stream',
  'max_tokens',
  'max_completion_tokens',
  'response_format',
  'reasoning_effort',
  'tools',
  'stream_options',
  'tool_choice',
  'store',
  'metadata',
  'seed',
  'service_tier',
];
const retired = /^(gpt-3\.5|gpt-4$|gpt-4-|o1|o3-mini|o4-mini)/;
const reasoning = /^(o\d|gpt-[5-9])/;

/** Strict mode wants every object closed and every property required. */
function refuseStrict(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  const { type, properties, required, additionalProperties } = schema as Record<string, unknown>;
  if (type === 'object') {
    if (additionalProperties !== false) return "'additionalProperties' is required to be supplied and to be false.";
    const missing = Object.keys(properties as object).filter((name) => !(required as string[])?.includes(name));
    if (missing.length > 0)
      return `'required' is required to include every key in properties. Missing '${missing[0]}'.`;
  }
  return Object.values(schema).map(refuseStrict).find(Boolean);
}

// biome-ignore lint/suspicious/noExplicitAny: whatever a request holds
type Any = any;

function refuseTools({ tools = [], tool_choice }: Any): WireAnswer | undefined {
  if (tools.length === 0) {
    return tool_choice && invalid("'tool_choice' is only allowed when 'tools' are specified.", 'tool_choice');
  }
  for (const { function: declared } of tools) {
    const { name, parameters } = declared;
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) return invalid(`Invalid 'tools[0].function.name'.`, 'tools');
    if (parameters.type !== 'object' || !parameters.properties) {
      const why = 'object schema missing properties';
      return invalid(`Invalid schema for function '${name}': In context=(), ${why}.`, 'tools');
    }
  }
  return undefined;
}

/** Every call needs its result right after it. */
function refuseHistory(messages: Any[]): WireAnswer | undefined {
  for (const [index, { role, tool_calls, content }] of messages.entries()) {
    if (role === 'assistant' && !tool_calls && !content) return invalid('Invalid content: null.', 'messages');
    if (role !== 'assistant' || !tool_calls) continue;
    const after = messages.slice(index + 1, index + 1 + tool_calls.length);
    const missing = tool_calls.filter(({ id }: Any, n: number) => after[n]?.tool_call_id !== id);
    if (missing.length === 0) continue;
    const rule = "An assistant message with 'tool_calls' must be followed by tool messages responding to each call";
    return invalid(`${rule}. These have none: ${missing.map(({ id }: Any) => id).join(', ')}`, 'messages');
  }
  return undefined;
}

function refuse({ body }: Received): WireAnswer | undefined {
  if (typeof body?.model !== 'string') return invalid('you must provide a model parameter', 'model');
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    return invalid("Invalid 'messages': empty array.", 'messages', 'empty_array');
  }
  const [extra] = unknownFields(body, fields);
  if (extra) return invalid(`Unknown parameter: '${extra}'.`, extra, 'unknown_parameter');
  if (retired.test(body.model)) {
    const message = `The model \`${body.model}\` does not exist or you do not have access to it.`;
    return openaiError(404, { message, type: 'invalid_request_error', code: 'model_not_found' });
  }
  const thinks = reasoning.test(body.model) && body.reasoning_effort !== 'none';
  if (thinks && body.temperature !== undefined && body.temperature !== 1) {
    return invalid("Unsupported value: 'temperature' does not support this value.", 'temperature', 'unsupported_value');
  }
  if (thinks && body.max_tokens !== undefined) {
    return invalid("Unsupported parameter: 'max_tokens'.", 'max_tokens', 'unsupported_parameter');
  }
  const problemOfTools = refuseTools(body) ?? refuseHistory(body.messages);
  if (problemOfTools) return problemOfTools;
  if (body.response_format?.type !== 'json_schema') return undefined;
  const { name, schema, strict } = body.response_format.json_schema;
  const problem =
    schema?.type === 'object'
      ? strict && refuseStrict(schema)
      : `schema must be of type 'object', got '${schema?.type}'.`;
  if (problem || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    return invalid(`Invalid schema for response_format '${name}': ${problem}`, 'response_format', null);
  }
  return undefined;
}

const reasons = { finished: 'stop', limit: 'length', refused: 'stop' };

function say({ body }: Received, said: Said): WireAnswer {
  const read = body.messages.map(({ content }: { content: unknown }) => content).join('\n');
  const schema = body.response_format?.json_schema?.schema;
  const echo = `GPT read: ${body.messages.at(-1).content}`;
  const { cachedTokens = 0, thinkingTokens = 0, end = 'finished', calls = [] } = said;
  const text = said.text ?? (calls.length > 0 ? '' : schema ? JSON.stringify(instanceOf(schema, echo)) : echo);
  const tool_calls = calls.map(({ id, name, args, rawArgs }) => ({
    id: id ?? `call_${requestId().slice(-6)}`,
    type: 'function',
    function: { name, arguments: rawArgs ?? JSON.stringify(args) },
  }));
  const prompt_tokens = said.inputTokens ?? countTokens(read);
  const completion_tokens = said.outputTokens ?? countTokens(text);
  const refusal = end === 'refused' ? 'I cannot help with that.' : null;
  return {
    status: 200,
    headers: { 'x-request-id': requestId(), 'openai-version': '2020-10-01' },
    body: {
      id: `chatcmpl-${requestId().slice(4)}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1000),
      model: body.model,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: refusal || (text === '' && calls.length > 0) ? null : text,
            refusal,
            annotations: [],
            ...(calls.length > 0 && { tool_calls }),
          },
          logprobs: null,
          finish_reason: calls.length > 0 && end === 'finished' ? 'tool_calls' : reasons[end],
        },
      ],
      usage: {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
        prompt_tokens_details: { cached_tokens: cachedTokens, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: thinkingTokens, audio_tokens: 0 },
      },
      service_tier: 'default',
      system_fingerprint: null,
    },
  };
}

const deltaOf = (delta: Json, finish_reason: string | null = null) => ({
  id: 'chatcmpl-fake',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'fake',
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});

/** The arguments of each call come in pieces, after its id and name. */
function callDeltas({ id, type, function: { name, arguments: args } }: Any, index: number): Json[] {
  const begin = { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] };
  const pieces = piecesOf(args).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] }));
  return [begin, ...pieces].map((delta) => deltaOf(delta));
}

function stream({ body }: Received, answer: WireAnswer): (Json | string)[] | undefined {
  if (!body.stream) return undefined;
  const { choices, usage } = answer.body as Any;
  const { message, finish_reason } = choices[0];
  const text = message.refusal ?? message.content ?? '';
  const field = message.refusal ? 'refusal' : 'content';
  return [
    deltaOf({ role: 'assistant', content: '', refusal: null }),
    ...piecesOf(text).map((piece) => deltaOf({ [field]: piece })),
    ...(message.tool_calls ?? []).flatMap(callDeltas),
    deltaOf({}, finish_reason),
    ...(body.stream_options?.include_usage ? [{ ...deltaOf({}), choices: [], usage }] : []),
    'data: [DONE]\n\n',
  ];
}

const dialect: Dialect = {
  isRoute: (method, { pathname }) => method === 'POST' && pathname === '/v1/chat/completions',
  keyOf: bearer,
  notFound: openaiError(404, { message: 'Invalid URL', type: 'invalid_request_error' }),
  wrongKey: openaiError(401, {
    message: 'Incorrect API key provided: sk-wr*****-key. You can find your API key at https://platform.openai.com.',
    type: 'invalid_request_error',
    code: 'invalid_api_key',
  }),
  refuse,
  say,
  stream,
  delta: (content) => deltaOf({ content }),
  frame: dataFrame,
};

/** OpenAI's Chat Completions API. */
export const startFakeOpenai = (apiKey = 'sk-proj-fake-0123456789'): Promise<FakeProvider> =>
  startWireServer(dialect, apiKey, '/v1');
