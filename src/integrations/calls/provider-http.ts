import type { z } from 'zod';
import { AccessTokenRefused, AuthExpired } from '../../connections/index.ts';
import type { Egress, EgressResponse } from '../../platform/egress/egress.ts';
import { EgressFailure, wasNeverSent } from '../../platform/egress/egress-failure.ts';
import type { Integration, IntegrationClient } from '../definition/integration.ts';
import { readAnswer } from './answer-json.ts';
import { IntegrationFailure } from './failures.ts';
import type { Account, ProviderCall, ProviderRequest } from './provider-call.ts';

type Sender = Pick<Egress, 'request'>;

/** Does work with an access token; work that throws AccessTokenRefused is done once more with a new one. */
export type TokenAccess = <T>(work: (token: string) => Promise<T>) => Promise<T>;

/** The records of a caller about requests that may change something. */
export interface ChangeRecorder {
  /** One is about to be sent. Where this throws it is not sent. */
  sending(): Promise<void>;
  /** The provider refused its token, and so did nothing. */
  refused(): Promise<void>;
}

export interface ProviderCallOptions {
  integration: Pick<Integration, 'failureOf'>;
  client: Pick<IntegrationClient, 'baseUrl' | 'authorization'>;
  account: Account;
  egress: {
    /** To hosts that the environment names. */
    named: Sender;
    /** For hosts that a caller or a provider names: only public ones. */
    guarded: Sender;
  };
  access: TokenAccess;
  /** Time limit of one request, including its response. */
  timeoutMs: number;
  idempotencyKey: string;
  signal: AbortSignal;
  changes?: ChangeRecorder;
}

/** For large pages of records. */
const maxAnswerBytes = 8 * 1024 * 1024;

/** Access by the client's own API key, which cannot be refreshed. @throws AuthExpired when it is refused */
export const apiKeyAccess =
  (apiKey: string): TokenAccess =>
  async (work) => {
    try {
      return await work(apiKey);
    } catch (error) {
      throw error instanceof AccessTokenRefused ? new AuthExpired() : error;
    }
  };

/** Requests to a provider on behalf of one account. Each is made once, and once more if its token was refused. */
export function providerCall(options: ProviderCallOptions): ProviderCall {
  const { integration, account, access, idempotencyKey, signal } = options;
  return {
    account,
    idempotencyKey,
    signal,
    request: <Schema extends z.ZodType>(request: ProviderRequest, schema: Schema) =>
      access(async (token) => {
        const changes = request.method === 'GET' ? undefined : options.changes;
        await changes?.sending();
        const { status, headers, body, truncated } = await send(options, request, token);
        const answer = { status, headers, body: truncated ? undefined : readAnswer(body, maxAnswerBytes) };
        const failure = integration.failureOf(answer);
        if (failure?.kind === 'auth_expired') {
          await changes?.refused();
          throw new AccessTokenRefused();
        }
        if (failure) throw failure;
        const read = schema.safeParse(answer.body);
        // It reported success, and the answer cannot be read.
        if (!read.success) throw new IntegrationFailure('lost', { cause: read.error });
        return read.data as z.infer<Schema>;
      }),
    queryOf(link) {
      const url = URL.parse(link);
      const { origin } = new URL(options.client.baseUrl(account.details));
      if (url?.origin !== origin || url.username !== '' || url.password !== '') throw new IntegrationFailure('lost');
      return Object.fromEntries(url.searchParams);
    },
  };
}

async function send(options: ProviderCallOptions, request: ProviderRequest, token: string): Promise<EgressResponse> {
  const { client, account, egress, timeoutMs, signal } = options;
  const { method, path, query, headers, json, form } = request;
  const baseUrl = client.baseUrl(account.details);
  // What an account's details name came from a provider's answer, not from the environment.
  const isNamed = new URL(baseUrl).origin === new URL(client.baseUrl({})).origin;
  const body = json === undefined ? form && new URLSearchParams(form).toString() : JSON.stringify(json);
  const type = json === undefined ? 'application/x-www-form-urlencoded' : 'application/json; charset=utf-8';
  try {
    return await egress[isNamed ? 'named' : 'guarded'].request({
      url: addressOf(baseUrl, path, query),
      method,
      signal,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': type }),
        ...headers,
        ...client.authorization(token),
      },
      ...(body !== undefined && { body }),
      deadlineMs: timeoutMs,
      maxResponseBytes: maxAnswerBytes,
    });
  } catch (error) {
    throw error instanceof EgressFailure ? failureBehind(error) : error;
  }
}

/**
 * The address of a request. A path that a URL would normalize, such as one with `..`, or one with an empty part, would
 * name another resource.
 * @throws IntegrationFailure
 */
function addressOf(baseUrl: string, path: string, query: Record<string, string> = {}): string {
  const [base, url] = [new URL(baseUrl), URL.parse(baseUrl + path)];
  const [pathname = ''] = path.split('?', 1);
  const isWhole = path.startsWith('/') && !pathname.includes('//');
  const isKept = isWhole && url?.pathname === base.pathname.replace(/\/$/, '') + pathname;
  if (!isKept || url.origin !== base.origin || url.hash !== '') throw new IntegrationFailure('invalid_payload');
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/** The possible effect of a request without an answer. */
function failureBehind(cause: EgressFailure): IntegrationFailure {
  const { errorClass } = cause;
  if (['forbidden_destination', 'invalid_request'].includes(errorClass)) {
    return new IntegrationFailure('action_failed', { cause });
  }
  return new IntegrationFailure(wasNeverSent(cause) ? 'not_done' : 'lost', { cause });
}
