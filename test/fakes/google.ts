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

/** An error as Google writes it. `status` is the name of a code of gRPC. */
export const googleError = (
  code: number,
  status: string,
  message: string,
  { details, headers }: { details?: object[]; headers?: Record<string, string> } = {},
): WireAnswer => ({
  status: code,
  headers: { 'content-type': 'application/json; charset=UTF-8', ...headers },
  body: { error: { code, message, status, ...(details && { details }) } },
});

export const retryInfo = (seconds: number) => ({
  '@type': 'type.googleapis.com/google.rpc.RetryInfo',
  retryDelay: `${seconds}s`,
});

export const quotaFailure = (quotaId: string) => ({
  '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
  violations: [{ quotaMetric: 'generativelanguage.googleapis.com/generate_content_requests', quotaId }],
});

const invalid = (message: string) => googleError(400, 'INVALID_ARGUMENT', message);

const route = /^\/v1(?:beta)?\/models\/([^/:]+):generateContent$/;
const fields = ['contents', 'systemInstruction', 'generationConfig', 'safetySettings', 'tools', 'toolConfig'];
const configFields = [
  ...['temperature', 'topP', 'topK', 'candidateCount', 'maxOutputTokens', 'stopSequences', 'seed', 'thinkingConfig'],
  ...['responseMimeType', 'responseSchema', 'responseJsonSchema'],
];
const retired = /^gemini-(1|2\.0)/;

function refuse({ path, body }: Received): WireAnswer | undefined {
  const model = route.exec(path)![1]!;
  const [extra] = [...unknownFields(body, fields), ...unknownFields(body?.generationConfig, configFields)];
  if (extra) return invalid(`Invalid JSON payload received. Unknown name "${extra}": Cannot find field.`);
  if (!Array.isArray(body?.contents) || body.contents.length === 0) {
    return invalid('* GenerateContentRequest.contents: contents is not specified');
  }
  if (retired.test(model)) {
    return googleError(404, 'NOT_FOUND', `models/${model} is not found for API version v1.`);
  }
  if (body.generationConfig?.responseJsonSchema && body.generationConfig.responseMimeType !== 'application/json') {
    return invalid('response_json_schema is only supported with response_mime_type application/json.');
  }
  return undefined;
}

const reasons = { finished: 'STOP', limit: 'MAX_TOKENS', refused: 'SAFETY' };

// biome-ignore lint/suspicious/noExplicitAny: whatever a request holds
const textOf = (content: any): string => (content?.parts ?? []).map(({ text = '' }) => text).join('');

function say({ path, body }: Received, said: Said): WireAnswer {
  const prompt = body.contents.map(textOf).join('\n');
  const schema = body.generationConfig?.responseJsonSchema;
  const echo = `Gemini read: ${prompt}`;
  const text = said.text ?? (schema ? JSON.stringify(instanceOf(schema, echo)) : echo);
  const { cachedTokens = 0, thinkingTokens = 0, end = 'finished' } = said;
  const promptTokenCount = said.inputTokens ?? countTokens(textOf(body.systemInstruction) + prompt);
  const written = said.outputTokens ?? countTokens(text) + thinkingTokens;
  const thought = { text: 'Let me think.', thought: true };
  const parts = [...(thinkingTokens > 0 ? [thought] : []), ...(text === '' ? [] : [{ text }])];
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=UTF-8' },
    body: {
      candidates: [
        {
          ...(end !== 'refused' && { content: { parts, role: 'model' } }),
          finishReason: reasons[end],
          index: 0,
        },
      ],
      usageMetadata: {
        promptTokenCount,
        // Thoughts are counted beside what is said, not within.
        candidatesTokenCount: written - thinkingTokens,
        totalTokenCount: promptTokenCount + written,
        ...(thinkingTokens > 0 && { thoughtsTokenCount: thinkingTokens }),
        ...(cachedTokens > 0 && { cachedContentTokenCount: cachedTokens }),
      },
      modelVersion: route.exec(path)![1],
      responseId: 'ZmFrZS1yZXNwb25zZQ',
    },
  };
}

const dialect: Dialect = {
  isRoute: (method, { pathname }) => method === 'POST' && route.test(pathname),
  keyOf: (headers, url) =>
    (headers['x-goog-api-key'] as string | undefined) ?? url.searchParams.get('key') ?? bearer(headers),
  notFound: { status: 404, headers: { 'content-type': 'text/html' }, body: 'Not found' },
  wrongKey: googleError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', {
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'API_KEY_INVALID',
        domain: 'googleapis.com',
        metadata: { service: 'generativelanguage.googleapis.com' },
      },
    ],
  }),
  refuse,
  say,
};

/** Google's generateContent. */
export const startFakeGoogle = (apiKey = 'AIzaFake0123456789'): Promise<FakeProvider> =>
  startWireServer(dialect, apiKey);
