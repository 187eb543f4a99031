import { clock } from '../platform/clock.ts';
import { JsonBounds, parseJson } from '../platform/core/bounded-json.ts';
import { readRetryAfter } from '../platform/core/retry-after.ts';
import type { Egress } from '../platform/egress/egress.ts';
import { EgressFailure } from '../platform/egress/egress-failure.ts';
import { AuthorizationFailure } from './failures.ts';
import type { OAuthProvider } from './providers.ts';

/** Far above any answer with tokens. */
const maxAnswerBytes = 64 * 1024;
const maxDepth = 8;
const maxStructures = 500;

type FetchOptions = { method?: string; headers?: Record<string, string>; body?: unknown };

/** One request to a token or revocation endpoint, passed to the OAuth library as `fetch`. It remembers how it went. */
export class TokenRequest {
  readonly #egress: Egress;
  readonly #deadlineMs: number;
  readonly #tokenAnswer: OAuthProvider['tokenAnswer'];
  #status: number | undefined;
  #retryAfter: string | undefined;

  constructor(egress: Egress, deadlineMs: number, tokenAnswer?: OAuthProvider['tokenAnswer']) {
    this.#egress = egress;
    this.#tokenAnswer = tokenAnswer;
    this.#deadlineMs = deadlineMs;
  }

  readonly fetch = async (url: string, { headers, body }: FetchOptions): Promise<Response> => {
    const answer = await this.#egress.request({
      url,
      method: 'POST',
      ...(headers && { headers }),
      body: String(body),
      deadlineMs: this.#deadlineMs,
      maxResponseBytes: maxAnswerBytes,
    });
    this.#status = answer.status;
    this.#retryAfter = answer.headers['retry-after'];
    if (answer.truncated) throw new Error(`The answer is larger than ${maxAnswerBytes} bytes.`);
    // The library parses the given body.
    const excess = new JsonBounds({ maxBytes: maxAnswerBytes, maxDepth, maxStructures }).add(answer.body);
    if (excess) throw new Error(`The answer is not read: ${excess}.`);
    const { status } = answer;
    const standard = this.#standard(status, answer.body);
    if (standard) return standard;
    const type = answer.headers['content-type'];
    return new Response(answer.body.length > 0 ? new Uint8Array(answer.body) : null, {
      // A status that `Response` does not allow is no valid answer of such an endpoint.
      status: status >= 200 && status <= 599 ? status : 599,
      ...(type !== undefined && { headers: { 'content-type': type } }),
    });
  };

  /** The answer in the form of RFC 6749, where the provider's differs. */
  #standard(status: number, body: Buffer): Response | undefined {
    if (!this.#tokenAnswer || status < 200 || status > 299) return undefined;
    const answer = parseJson(body, maxAnswerBytes);
    if (typeof answer !== 'object' || answer === null) return undefined;
    const standard = this.#tokenAnswer(answer as Record<string, unknown>);
    if (standard.error !== undefined) this.#status = 400;
    return Response.json(standard, { status: this.#status ?? status });
  }

  /** The failure behind an error of the library or of the network. It does not repeat the provider's text. */
  failureOf(error: unknown): AuthorizationFailure {
    if (error instanceof AuthorizationFailure) return error;
    if (error instanceof EgressFailure) {
      const retryable = !['forbidden_destination', 'invalid_request'].includes(error.errorClass);
      return new AuthorizationFailure(error.errorClass, `The provider did not answer: ${error.message}`, {
        retryable,
        cause: error,
      });
    }
    const status = this.#status;
    const said = (error as { error?: unknown }).error;
    if (typeof said === 'string' && /^[a-z_]{1,60}$/.test(said) && status !== undefined && status < 500) {
      const retryable = status === 429 || said === 'temporarily_unavailable' || said === 'server_error';
      return this.#answered(said, `The provider refused with ${said}.`, retryable);
    }
    // A successful status with a broken answer may mean lost tokens.
    const retryable = status === undefined || status < 300 || status === 408 || status === 429 || status >= 500;
    return this.#answered('invalid_answer', `The provider's answer cannot be used (HTTP ${status}).`, retryable, error);
  }

  #answered(code: string, message: string, retryable: boolean, cause?: unknown): AuthorizationFailure {
    const retryAfterMs = readRetryAfter(this.#retryAfter, clock.now());
    return new AuthorizationFailure(code, message, { retryable, retryAfterMs, ...(cause !== undefined && { cause }) });
  }
}
