import { clock } from '../platform/clock.ts';
import { isJsonObject } from '../platform/core/json-shapes.ts';
import { readRetryAfter } from '../platform/core/retry-after.ts';
import { type FailureFacts, type FailureKind, ProviderFailure } from '../platform/provider-failure.ts';
import { AnswerTooLong, type HttpExchange } from './http-exchange.ts';

/** The context of a failed call. */
interface FailedCall {
  /** The provider's display name. */
  provider: string;
  /** The published name, the provider's own, and the variable that maps the one to the other. */
  model: { name: string; upstream: string };
  timeoutMs: number;
  exchange: HttpExchange;
  /** Removed from messages. */
  apiKey: string;
}

/** Upper limit of a requested retry delay. */
const maxWaitMs = 24 * 3_600_000;

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The error body of any provider: its identifiers and its message. */
interface ErrorBody {
  codes: string[];
  message: string;
  retryDelayMs?: number;
}

function read(body: unknown): ErrorBody {
  const outer = Array.isArray(body) ? body[0] : body;
  const error = isJsonObject(outer) && isJsonObject(outer.error) ? outer.error : outer;
  if (!isJsonObject(error)) return { codes: [], message: '' };
  const details = listOf(error.details).filter(isJsonObject);
  const violations = details.flatMap((detail) => listOf(detail.violations)).filter(isJsonObject);
  const single = isJsonObject(error.details) ? [error.details.error_code] : [];
  const codes = [
    error.type,
    error.code,
    error.status,
    ...single,
    ...details.map(({ reason }) => reason),
    ...violations.map(({ quotaId }) => quotaId),
  ].filter((code) => typeof code === 'string');
  const delay = details.map(({ retryDelay }) => /^(\d+(?:\.\d+)?)s$/.exec(String(retryDelay))?.[1]).find(Boolean);
  return {
    codes,
    message: typeof error.message === 'string' ? error.message : '',
    ...(delay && { retryDelayMs: Number(delay) * 1000 }),
  };
}

interface Refusal extends ErrorBody {
  status: number;
}

const has = ({ codes }: Refusal, pattern: RegExp) => codes.some((code) => pattern.test(code));

/** The first match decides. Identifiers come before statuses, because some providers use one status for several failures. */
const rules: [FailureKind, (refusal: Refusal) => boolean][] = [
  ['auth', (r) => has(r, /^(API_KEY_INVALID|API_KEY_EXPIRED|invalid_api_key)$/)],
  ['content_refused', (r) => has(r, /^(content_filter|content_policy_violation|invalid_prompt|moderation_blocked)$/)],
  ['quota', (r) => r.status === 402 || has(r, /^insufficient_quota$|billing|spend_limit_reached$|PerDay/)],
  ['quota', (r) => has(r, /^FAILED_PRECONDITION$/) || /credit balance is too low/i.test(r.message)],
  ['retired_model', (r) => r.status === 410 || has(r, /^model_not_found$/)],
  ['retired_model', (r) => r.status === 404 && has(r, /^(not_found_error|NOT_FOUND)$/)],
  ['auth', (r) => r.status === 401 || r.status === 403],
  ['overloaded', (r) => r.status === 529 || r.status === 503 || has(r, /^overloaded_error$/)],
  ['rate_limited', (r) => r.status === 429],
  ['timeout', (r) => r.status === 408 || r.status === 504],
  ['unavailable', (r) => r.status >= 500 || r.status === 409],
  ['invalid_request', () => true],
];

/** The retry delay in ms that the provider requests. A time in the past is ignored, because it would cause a burst of retries. */
function retryAfter(headers: Headers | undefined, body: ErrorBody): number | undefined {
  const exact = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  const rounded = readRetryAfter(headers?.get('retry-after'), clock.now()) ?? 0;
  const asked = [exact, rounded, body.retryDelayMs ?? 0].find((wait) => wait > 0);
  return asked === undefined ? undefined : Math.min(Math.ceil(asked), maxWaitMs);
}

/** Characters of a provider's message that are read, and that are shown. */
const maxMessage = { read: 4_000, shown: 300 };

/** The beginning of a text. A cut text ends with a whole word, because half of a secret is not recognized as one. */
function beginning(text: string): string {
  if (text.length <= maxMessage.read) return text;
  const words = text.slice(0, maxMessage.read).split(/(\s)/);
  return words.slice(0, -1).join('');
}

function withoutUrl(word: string): string {
  const at = word.indexOf('://');
  if (at <= 0 || at + 3 === word.length) return word;
  let start = at;
  while (start > 0 && /[a-z0-9+.-]/i.test(word[start - 1]!)) start--;
  return start === at ? word : `${word.slice(0, start)}${removed}`;
}

const removed = '[…]';
// In two steps, each of which takes linear time: the characters that identify a secret, and the rest of it.
const secretStart = /\b(?:(?:sk|pk|rk|org|proj)[-_]|AIza|ya29\.|Bearer )[A-Za-z0-9*._-]{6}/g;
const secretRest = /\[…\][A-Za-z0-9*._-]+/g;

/** A provider's message about an invalid request helps its author. Keys, accounts and URLs are removed from it. */
function withoutSecrets(message: string, apiKey: string): string {
  return beginning(message)
    .replaceAll(apiKey, removed)
    .replace(secretStart, removed)
    .replace(secretRest, removed)
    .split(/\s+/)
    .map(withoutUrl)
    .join(' ')
    .trim()
    .slice(0, maxMessage.shown);
}

const safeId = (id: string | null | undefined) => (id && /^[A-Za-z0-9._-]{1,100}$/.test(id) ? id : undefined);

function message(kind: FailureKind, { provider, model, timeoutMs, apiKey }: FailedCall, refusal?: Refusal): string {
  const http = refusal ? ` (HTTP ${refusal.status})` : '';
  const why = refusal && withoutSecrets(refusal.message, apiKey);
  const isWrongAddress = refusal && refusal.codes.length === 0 && (refusal.status === 404 || refusal.status < 400);
  const asked = model.name === model.upstream ? '' : ` (requested as ${model.name})`;
  const sentences: Record<FailureKind, string> = {
    unavailable: `${provider} is unavailable${http}.`,
    overloaded: `${provider} is overloaded${http}.`,
    rate_limited: `${provider} limited the rate of requests${http}.`,
    timeout: refusal ? `${provider} timed out${http}.` : `${provider} did not answer in ${timeoutMs / 1000} s.`,
    connection: `The connection to ${provider} failed.`,
    malformed_answer: `${provider} sent an invalid response.`,
    auth: `${provider} rejected this installation's credentials${http}.`,
    quota: `This installation's quota at ${provider} is used up${http}.`,
    content_refused: `${provider} refused the content${http}.`,
    invalid_request: isWrongAddress
      ? `The address configured for ${provider} does not offer its API${http}.`
      : `${provider} rejected the request as invalid${http}${why ? `: ${why}` : '.'}`,
    retired_model: `${provider} does not serve the model ${model.upstream}${asked}. The operator of this installation can map the name to another model.`,
  };
  return sentences[kind];
}

/** The HTTP status of an error that came within a stream, by its identifier. Other errors are the provider's. */
const statuses: [number, RegExp][] = [
  [529, /^overloaded_error$/],
  [503, /^UNAVAILABLE$/],
  [429, /^(rate_limit_error|rate_limit_exceeded|RESOURCE_EXHAUSTED)$/],
  [504, /^(timeout_error|DEADLINE_EXCEEDED)$/],
  [400, /^(invalid_request_error|INVALID_ARGUMENT)$/],
];

function refusalIn(streamedError: unknown): Refusal {
  const body = read(streamedError);
  const [status] = statuses.find(([, pattern]) => body.codes.some((code) => pattern.test(code))) ?? [500];
  return { status, ...body };
}

/** An error and its causes, outermost first. */
function* chain(error: unknown): Generator<{ name?: unknown; code?: unknown }> {
  for (let at = error, depth = 0; isJsonObject(at) && depth < 8; at = at.cause, depth++) yield at;
}

/** The kind of failure without a complete response. Names and codes are those of Node, undici and the SDKs. */
function kindOfBroken(error: unknown): FailureKind {
  const said = [...chain(error)].flatMap(({ name, code }) => [name, code]).map(String);
  if (said.some((word) => /^(AbortError|TimeoutError|ETIMEDOUT|UND_ERR_(HEADERS|BODY)_TIMEOUT)$/.test(word))) {
    return 'timeout';
  }
  return said.some((word) => /^(TypeError|SocketError|E[A-Z]{4,}|EAI_AGAIN|UND_ERR_.*)$/.test(word))
    ? 'connection'
    : 'malformed_answer';
}

const requestIdHeaders = ['request-id', 'x-request-id', 'x-fal-request-id'];

/**
 * Converts an error of an SDK to a ProviderFailure. It is based on the HTTP exchange, because the SDKs report errors
 * differently and incompletely. The message contains text of the provider only for an invalid request, without secrets.
 */
export function toProviderFailure(error: unknown, call: FailedCall): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  const { status, headers, errorBody, broken } = call.exchange;
  if (status !== undefined && (status < 200 || status >= 300)) {
    const refusal: Refusal = { status, ...read(errorBody) };
    const [kind] = rules.find(([, fits]) => fits(refusal))!;
    const wait = retryAfter(headers, refusal);
    const requestId = safeId(requestIdHeaders.map((name) => headers?.get(name)).find(Boolean));
    const facts: FailureFacts = {
      status,
      ...(headers?.get('x-should-retry') === 'false' && { retryable: false }),
      ...(wait !== undefined && { retryAfterMs: wait }),
      ...(requestId && { requestId }),
    };
    return new ProviderFailure(kind, message(kind, call, refusal), facts);
  }
  const { streamedError } = call.exchange;
  if (streamedError !== undefined) {
    const refusal = refusalIn(streamedError);
    const [kind] = rules.find(([, fits]) => fits(refusal))!;
    const wait = retryAfter(undefined, refusal);
    return new ProviderFailure(kind, message(kind, call, refusal), wait === undefined ? {} : { retryAfterMs: wait });
  }
  if (broken instanceof AnswerTooLong) {
    // Another attempt would cost as much.
    return new ProviderFailure('malformed_answer', `${call.provider} sent a response that is too long.`, {
      retryable: false,
    });
  }
  // A complete response that the SDK could not parse.
  if (status !== undefined && broken === undefined) {
    return new ProviderFailure('malformed_answer', message('malformed_answer', call), { status });
  }
  const kind = broken === undefined ? 'invalid_request' : kindOfBroken(broken);
  return new ProviderFailure(kind, message(kind, call));
}
