import type { z } from 'zod';
import { AccessTokenRefused } from '../../../connections/index.ts';
import { clock } from '../../../platform/clock.ts';
import { readJson } from '../../../platform/core/bounded-json.ts';

import { readRetryAfter } from '../../../platform/core/retry-after.ts';
import type { Scope } from '../../../platform/database/scope.ts';
import type { Egress, EgressRequest, EgressResponse } from '../../../platform/egress/egress.ts';
import { EgressFailure } from '../../../platform/egress/egress-failure.ts';
import { type FailureKind, ProviderFailure } from '../../../platform/provider-failure.ts';
import type { Account } from './ports.ts';

/** Access tokens of connected accounts; `use` throws AccessTokenRefused for a token that the provider refuses. */
interface AccountAccess {
  withAccessToken<Result>(
    scope: Scope,
    connectionId: string,
    use: (accessToken: string) => Promise<Result>,
  ): Promise<Result>;
}

export interface CalendarHttpOptions {
  /** For messages. */
  title: string;
  /** Without a slash at its end. */
  baseUrl: string;
  timeoutMs: number;
  egress: Pick<Egress, 'request'>;
  access: AccountAccess;
  /** Identifiers in the body of an error, from the most specific on. */
  codesOf(body: unknown): string[];
}

export interface CalendarRequest {
  method: EgressRequest['method'];
  /** Below the base URL, with its query; or a whole address of the same origin. */
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
  signal: AbortSignal;
}

/** A page of 1,000 events is about a MiB. */
const maxAnswerBytes = 8 * 1024 * 1024;

/** An answer without success, before its meaning for the request is known. */
export class CalendarRefusal extends Error {
  override name = 'CalendarRefusal';
  readonly status: number;
  readonly codes: readonly string[];
  readonly retryAfterMs: number | undefined;

  constructor(status: number, codes: readonly string[], retryAfterMs: number | undefined) {
    super(`HTTP ${status} ${codes.join(' ')}`);
    this.status = status;
    this.codes = codes;
    this.retryAfterMs = retryAfterMs;
  }

  has(pattern: RegExp): boolean {
    return this.codes.some((code) => pattern.test(code));
  }
}

/** Whether a request was refused with one of these statuses of HTTP. */
export const isStatus = (error: unknown, ...statuses: number[]): boolean =>
  error instanceof CalendarRefusal && statuses.includes(error.status);

/** An address for attendees, as a provider gave it; null for an address that must not be passed on. */
export const meetingUrlOf = (url: string | null | undefined): string | null =>
  url?.startsWith('https://') && url.length <= 2_000 ? url : null;

/** Google's 403 for too many requests, and Microsoft's. */
const tooFast = /^(rateLimitExceeded|userRateLimitExceeded|quotaExceeded|ApplicationThrottled|TooManyRequests)$/;

function kindOf(refusal: CalendarRefusal): FailureKind {
  const { status } = refusal;
  if (status === 429 || (status === 403 && refusal.has(tooFast))) return 'rate_limited';
  if (status === 401 || status === 403) return 'auth';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 503) return 'overloaded';
  if (status >= 500 || status === 409 || status === 412) return 'unavailable';
  return 'invalid_request';
}

const sentences: Partial<Record<FailureKind, string>> = {
  rate_limited: 'limited the rate of requests',
  auth: 'refused access to the calendar',
  timeout: 'timed out',
  overloaded: 'is overloaded',
  unavailable: 'is unavailable',
};

/** Requests to the API of one calendar service. Each is made once. */
export class CalendarHttp {
  readonly #options: CalendarHttpOptions;

  constructor(options: CalendarHttpOptions) {
    this.#options = options;
  }

  /**
   * Makes a request with the account's access token, and checks the answer.
   * @param schema of the body; undefined where it does not matter
   * @throws CalendarRefusal; ProviderFailure; AuthExpired; the signal's reason
   */
  ask<Schema extends z.ZodType>(
    { scope, connectionId }: Account,
    request: CalendarRequest,
    schema: Schema,
  ): Promise<z.infer<Schema>> {
    const { access } = this.#options;
    return access.withAccessToken(scope, connectionId, async (accessToken) => {
      const response = await this.#send(request, accessToken);
      return this.#read(response, schema);
    });
  }

  /** The caller's error for a refusal, if the request gives it no other meaning. */
  failureOf(error: unknown): unknown {
    if (!(error instanceof CalendarRefusal)) return error;
    const kind = kindOf(error);
    const { status, retryAfterMs } = error;
    const what = sentences[kind] ?? 'rejected the request as invalid';
    return new ProviderFailure(kind, `${this.#options.title} ${what} (HTTP ${status}).`, {
      status,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  }

  malformed(why: string): ProviderFailure {
    return new ProviderFailure('malformed_answer', `${this.#options.title} sent an invalid response: ${why}.`);
  }

  /**
   * An address that the provider names is followed on the origin of the base URL alone: it gets the access token.
   * @throws ProviderFailure
   */
  checkLink(link: string): string {
    const [url, base] = [URL.parse(link), new URL(this.#options.baseUrl)];
    if (!url || url.origin !== base.origin || url.username !== '') throw this.malformed('a link to another address');
    return url.href;
  }

  async #send({ method, path, headers, body, signal }: CalendarRequest, accessToken: string): Promise<EgressResponse> {
    const { egress, baseUrl, timeoutMs, title } = this.#options;
    const url = /^https?:/.test(path) ? this.checkLink(path) : baseUrl + path;
    try {
      return await egress.request({
        url,
        method,
        signal,
        deadlineMs: timeoutMs,
        maxResponseBytes: maxAnswerBytes,
        headers: {
          authorization: `Bearer ${accessToken}`,
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      if (!(error instanceof EgressFailure)) throw error;
      if (error.errorClass === 'timeout') {
        throw new ProviderFailure('timeout', `${title} did not answer in ${timeoutMs / 1_000} s.`);
      }
      throw new ProviderFailure('connection', `The connection to ${title} failed.`);
    }
  }

  #read<Schema extends z.ZodType>({ status, headers, body, truncated }: EgressResponse, schema: Schema) {
    if (status === 401) throw new AccessTokenRefused();
    if (truncated) throw this.malformed('it is too large');
    const json = readJson(body, maxAnswerBytes);
    if (status < 200 || status >= 300) {
      const retryAfterMs = readRetryAfter(headers['retry-after'], clock.now());
      throw new CalendarRefusal(status, this.#options.codesOf(json), retryAfterMs);
    }
    const result = schema.safeParse(json);
    if (!result.success) throw this.malformed(result.error.issues[0]?.path.join('.') || 'its form');
    return result.data as z.infer<Schema>;
  }
}
