import { instanceOf } from '../../src/providers/sandbox/instance.ts';
import { Signatures } from './signatures.ts';
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

// biome-ignore lint/suspicious/noExplicitAny: whatever a request holds
type Any = any;

const invalid = (message: string) => googleError(400, 'INVALID_ARGUMENT', message);

const route = /^\/v1(?:beta)?\/models\/([^/:]+):(?:generateContent|streamGenerateContent)$/;
const fields = ['contents', 'systemInstruction', 'generationConfig', 'safetySettings', 'tools', 'toolConfig'];
const configFields = [
  'temperature',
  'topP',
  'topK',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'seed',
  'thinkingConfig',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
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
  const declared: Any[] = (body.tools ?? []).flatMap((tool: Any) => tool.functionDeclarations);
  if (declared.some(({ name }) => !/^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/.test(name))) {
    return invalid('GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name.');
  }
  if (body.generationConfig?.responseJsonSchema && body.generationConfig.responseMimeType !== 'application/json') {
    return invalid('response_json_schema is only supported with response_mime_type application/json.');
  }
  return undefined;
}

const reasons = { finished: 'STOP', limit: 'MAX_TOKENS', refused: 'SAFETY' };

const partsOf = (content: Any): Any[] => content?.parts ?? [];
const textOf = (content: Any): string =>
  partsOf(content)
    .map(
      ({ text = '', functionResponse }) => text + (functionResponse ? JSON.stringify(functionResponse.response) : ''),
    )
    .join('');
const callsOf = (content: Any): Any[] => partsOf(content).flatMap(({ functionCall }) => functionCall ?? []);

/** Whether the results of a message fit the calls of the one before it. */
function refuseResults(contents: Any[]): WireAnswer | undefined {
  for (const [index, content] of contents.entries()) {
    const calls = callsOf(content);
    if (calls.length === 0) continue;
    const results = partsOf(contents[index + 1]).flatMap(({ functionResponse }) => functionResponse ?? []);
    if (results.length !== calls.length) {
      const equal = 'the number of function response parts is equal to the number of function call parts';
      return invalid(`Please ensure that ${equal} of the function call turn.`);
    }
    if (results.some(({ id, name }, n) => id !== calls[n].id || name !== calls[n].name)) {
      return invalid('Function response does not match its function call.');
    }
  }
  return undefined;
}

/** Only the first of several calls is signed. */
function refuseHistory(signatures: Signatures, contents: Any[]): WireAnswer | undefined {
  const history: { signature: string; said: unknown }[] = [];
  for (const content of contents) {
    const calls = callsOf(content);
    if (calls.length === 0) continue;
    const signature = partsOf(content).find(({ functionCall }) => functionCall)?.thoughtSignature;
    if (!signature) return invalid('Function call is missing a thought_signature in functionCall parts.');
    history.push({ signature, said: calls });
  }
  return signatures.accept(history) ? refuseResults(contents) : invalid('Thought signature is not valid.');
}

function say(signatures: Signatures, { path, body }: Received, said: Said): WireAnswer {
  const prompt = body.contents.map(textOf).join('\n');
  const schema = body.generationConfig?.responseJsonSchema;
  const echo = `Gemini read: ${prompt}`;
  const { cachedTokens = 0, thinkingTokens = 0, end = 'finished', calls = [] } = said;
  const text = said.text ?? (calls.length > 0 ? '' : schema ? JSON.stringify(instanceOf(schema, echo)) : echo);
  const promptTokenCount = said.inputTokens ?? countTokens(textOf(body.systemInstruction) + prompt);
  const written = said.outputTokens ?? countTokens(text) + thinkingTokens;
  const thought = { text: 'Let me think.', thought: true };
  const called = calls.map(({ id, name, args }) => ({ ...(id !== undefined && { id }), name, args }));
  const thoughtSignature = called.length > 0 ? signatures.sign(called) : '';
  const parts = [
    ...(thinkingTokens > 0 ? [thought] : []),
    ...(text === '' ? [] : [{ text }]),
    ...called.map((functionCall, n) => ({ functionCall, ...(n === 0 && { thoughtSignature }) })),
  ];
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

const eventOf = (parts: Any[]) => ({ candidates: [{ content: { parts, role: 'model' }, index: 0 }] });

/** A text in several events, every other part in one, and in the end a signature of what was said, as Gemini has it. */
function stream({ path, query }: Received, { body }: WireAnswer): Json[] | undefined {
  if (!path.endsWith(':streamGenerateContent')) return undefined;
  if (query !== '?alt=sse') return [{ error: { code: 400, message: 'alt', status: 'INVALID_ARGUMENT' } }];
  const { candidates, usageMetadata, modelVersion } = body as Any;
  const { content, finishReason } = candidates[0];
  const events = partsOf(content).flatMap((part) =>
    part.text === undefined ? [[part]] : piecesOf(part.text).map((text) => [{ ...part, text }]),
  );
  const last = { content: { parts: [{ text: '', thoughtSignature: 'ZW5k' }], role: 'model' }, finishReason, index: 0 };
  const ending = finishReason === 'SAFETY' ? { finishReason, index: 0 } : last;
  return [...events.map(eventOf), { candidates: [ending], usageMetadata, modelVersion }];
}

const dialectOf = (signatures: Signatures): Dialect => ({
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
  refuse: (received) => refuse(received) ?? refuseHistory(signatures, received.body.contents),
  say: (received, said) => say(signatures, received, said),
  stream,
  delta: (text) => eventOf([{ text }]),
  frame: dataFrame,
});

/** Google's generateContent and streamGenerateContent. */
export const startFakeGoogle = (apiKey = 'AIzaFake0123456789'): Promise<FakeProvider> =>
  startWireServer(dialectOf(new Signatures()), apiKey);
