import type { HttpExchange } from './http-exchange.ts';
import { type FailureFacts, type FailureKind, ProviderFailure } from './ports.ts';

/** What a failed call was about. */
export interface FailedCall {
  /** As people write it. */
  provider: string;
  /** The published name and the provider's own. */
  model: { name: string; upstream: string };
  timeoutMs: number;
  exchange: HttpExchange;
  /** Never to be seen in a message. */
  apiKey: string;
}

/** Nothing that a provider asks for is waited for any longer. */
const longestWaitMs = 24 * 3_600_000;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** An error's body, whichever provider wrote it: its identifiers, and the sentence for people. */
interface Told {
  codes: string[];
  message: string;
  retryDelayMs?: number;
}

function read(body: unknown): Told {
  const outer = Array.isArray(body) ? body[0] : body;
  const error = isRecord(outer) && isRecord(outer.error) ? outer.error : outer;
  if (!isRecord(error)) return { codes: [], message: '' };
  const details = listOf(error.details).filter(isRecord);
  const violations = details.flatMap((detail) => listOf(detail.violations)).filter(isRecord);
  const single = isRecord(error.details) ? [error.details.error_code] : [];
  const codes = [
    ...[error.type, error.code, error.status, ...single],
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

interface Refusal extends Told {
  status: number;
}

const has = ({ codes }: Refusal, pattern: RegExp) => codes.some((code) => pattern.test(code));

/** The first that fits. Some providers use one status for several things, so identifiers come before statuses. */
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

/** Milliseconds that the provider asks to wait; none for a time that is over, which would make everyone come at once. */
function retryAfter(headers: Headers | undefined, told: Told): number | undefined {
  const exact = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  const header = headers?.get('retry-after') ?? '';
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  const asked = [exact, seconds, told.retryDelayMs ?? 0].find((wait) => wait > 0);
  return asked === undefined ? undefined : Math.min(Math.ceil(asked), longestWaitMs);
}

/** What a provider says of a bad request helps whoever wrote it; keys, accounts and addresses in it do not. */
function withoutSecrets(message: string, apiKey: string): string {
  return message
    .replaceAll(apiKey, '[…]')
    .replace(/\b((sk|pk|rk|org|proj)[-_]|AIza|ya29\.|Bearer )[A-Za-z0-9*._-]{6,}/g, '[…]')
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[…]')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 300);
}

const safeId = (id: string | null | undefined) => (id && /^[A-Za-z0-9._-]{1,100}$/.test(id) ? id : undefined);

function message(kind: FailureKind, { provider, model, timeoutMs, apiKey }: FailedCall, refusal?: Refusal): string {
  const http = refusal ? ` (HTTP ${refusal.status})` : '';
  const why = refusal && withoutSecrets(refusal.message, apiKey);
  const nobody = refusal && refusal.codes.length === 0 && (refusal.status === 404 || refusal.status < 400);
  const asked = model.name === model.upstream ? '' : ` (asked for as ${model.name})`;
  const sentences: Record<FailureKind, string> = {
    unavailable: `${provider} is unavailable${http}.`,
    overloaded: `${provider} is overloaded${http}.`,
    rate_limited: `${provider} refuses so many requests${http}.`,
    timeout: refusal ? `${provider} ran out of time${http}.` : `${provider} did not answer in ${timeoutMs / 1000} s.`,
    connection: `The connection to ${provider} failed.`,
    malformed_answer: `${provider} sent an answer that cannot be read.`,
    auth: `${provider} refused this installation's credentials${http}.`,
    quota: `This installation's quota at ${provider} is used up${http}.`,
    content_refused: `${provider} refused the content${http}.`,
    invalid_request: nobody
      ? `The address configured for ${provider} does not offer its API${http}.`
      : `${provider} refused the request as invalid${http}${why ? `: ${why}` : '.'}`,
    retired_model: `${provider} does not serve the model ${model.upstream}${asked}. The operator can give the name another model with MODEL_ALIASES.`,
  };
  return sentences[kind];
}

/** An error and what caused it, outermost first. */
function* chain(error: unknown): Generator<{ name?: unknown; code?: unknown }> {
  for (let at = error, depth = 0; isRecord(at) && depth < 8; at = at.cause, depth++) yield at;
}

/** Of what never became a whole answer. Names and codes are those of Node, undici and the SDKs. */
function kindOfBroken(error: unknown): FailureKind {
  const said = [...chain(error)].flatMap(({ name, code }) => [name, code]).map(String);
  if (said.some((word) => /^(AbortError|TimeoutError|ETIMEDOUT|UND_ERR_(HEADERS|BODY)_TIMEOUT)$/.test(word))) {
    return 'timeout';
  }
  return said.some((word) => /^(TypeError|SocketError|E[A-Z]{4,}|EAI_AGAIN|UND_ERR_.*)$/.test(word))
    ? 'connection'
    : 'malformed_answer';
}

/**
 * Turns whatever an SDK threw into the one failure that the product knows. Decides by what went over the wire, which
 * every SDK reports in its own way and some in part; no text of the provider reaches the message but why a request is
 * invalid, without secrets.
 */
export function toProviderFailure(error: unknown, call: FailedCall): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  const { status, headers, errorBody, broken } = call.exchange;
  if (status !== undefined && (status < 200 || status >= 300)) {
    const refusal: Refusal = { status, ...read(errorBody) };
    const [kind] = rules.find(([, fits]) => fits(refusal))!;
    const wait = retryAfter(headers, refusal);
    const requestId = safeId(headers?.get('request-id') ?? headers?.get('x-request-id'));
    const facts: FailureFacts = {
      status,
      ...(headers?.get('x-should-retry') === 'false' && { retryable: false }),
      ...(wait !== undefined && { retryAfterMs: wait }),
      ...(requestId && { requestId }),
    };
    return new ProviderFailure(kind, message(kind, call, refusal), facts);
  }
  // A whole answer that its SDK cannot read, a request that never became one, or what the SDK refused to send.
  if (status !== undefined && broken === undefined) {
    return new ProviderFailure('malformed_answer', message('malformed_answer', call), { status });
  }
  const kind = broken === undefined ? 'invalid_request' : kindOfBroken(broken);
  return new ProviderFailure(kind, message(kind, call));
}
