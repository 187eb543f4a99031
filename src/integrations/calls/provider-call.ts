import type { z } from 'zod';
import type { EgressRequest } from '../../platform/egress/egress.ts';

/** A connected account, as calls to its provider see it. */
export interface Account {
  /** The provider's name of it, which its events carry: a Slack team, a HubSpot portal. */
  id: string;
  name: string;
  /** Facts from the time of the connection, such as the address of its server. Small, and not secret. */
  details: Readonly<Record<string, string>>;
}

export interface ProviderRequest {
  method: EgressRequest['method'];
  /** Below the base URL of the account. */
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** At most one of the two. */
  json?: unknown;
  form?: Record<string, string>;
}

export interface ProviderAnswer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Parsed JSON; undefined where there is none. */
  body: unknown;
}

/** Requests to a provider on behalf of one account. */
export interface ProviderCall {
  account: Account;
  /** The same for every attempt of one action, for providers that take such a key. */
  idempotencyKey: string;
  signal: AbortSignal;
  /**
   * Makes one request with the account's access token, and checks the answer.
   * @param schema of the body
   * @throws IntegrationFailure as the integration maps errors; AuthExpired; the signal's reason
   */
  request<Schema extends z.ZodType>(request: ProviderRequest, schema: Schema): Promise<z.infer<Schema>>;
  /**
   * The query of an address that the provider gave, such as that of the next page of a list.
   * @throws IntegrationFailure `lost` for an address that is not on the provider's own host
   */
  queryOf(link: string): Record<string, string>;
}
