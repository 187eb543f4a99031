import { instanceOf } from '../../src/providers/sandbox/instance.ts';
import {
  bearer,
  countTokens,
  type Dialect,
  type FakeProvider,
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
  ...['model', 'max_tokens', 'messages', 'system', 'stop_sequences', 'stream', 'metadata', 'thinking', 'tools'],
  ...['tool_choice', 'output_config', 'service_tier', 'temperature', 'top_p', 'top_k'],
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

function refuse({ headers, body }: Received): WireAnswer | undefined {
  const version = headers['anthropic-version'];
  if (version === undefined) return invalid('anthropic-version: header is required');
  if (typeof body?.model !== 'string') return invalid('model: Field required');
  if (!Number.isInteger(body.max_tokens) || body.max_tokens < 0) return invalid('max_tokens: Field required');
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    return invalid('messages: at least one message is required');
  }
  if (body.messages.some(({ content }: { content: unknown }) => content === '')) {
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

const stopReasons = { finished: 'end_turn', limit: 'max_tokens', refused: 'refusal' };

function say({ body }: Received, said: Said): WireAnswer {
  const prompt = body.messages.map(({ content }: { content: unknown }) => content).join('\n');
  const schema = body.output_config?.format?.schema;
  const echo = `Claude read: ${prompt}`;
  const text = said.text ?? (schema ? JSON.stringify(instanceOf(schema, echo)) : echo);
  const { cachedTokens = 0, thinkingTokens = 0, end = 'finished' } = said;
  const input = said.inputTokens ?? countTokens((body.system ?? '') + prompt);
  const thinking = { type: 'thinking', thinking: '', signature: 'c2lnbmF0dXJl' };
  return {
    status: 200,
    headers: { 'request-id': requestId() },
    body: {
      id: `msg_${requestId().slice(4)}`,
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: [...(thinkingTokens > 0 ? [thinking] : []), ...(text === '' ? [] : [{ type: 'text', text }])],
      stop_reason: stopReasons[end],
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

const dialect: Dialect = {
  isRoute: (method, { pathname }) => method === 'POST' && pathname === '/v1/messages',
  keyOf: (headers) => (headers['x-api-key'] as string | undefined) ?? bearer(headers),
  notFound: anthropicError(404, 'not_found_error', 'Not found'),
  wrongKey: anthropicError(401, 'authentication_error', 'invalid x-api-key'),
  refuse,
  say,
};

/** Anthropic's Messages API. */
export const startFakeAnthropic = (apiKey = 'sk-ant-fake-0123456789'): Promise<FakeProvider> =>
  startWireServer(dialect, apiKey);
