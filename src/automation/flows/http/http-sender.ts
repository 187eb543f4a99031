import type { TenantKey } from '../../../platform/security/tenant-key.ts';
import type { Environment } from '../../../platform/tenant.ts';
import type { HttpMethod } from '../../core/http-request.ts';

/** A request of a step, with its secrets. */
export interface HttpRequest {
  method: HttpMethod;
  url: string;
  headers: Record<string, string>;
  /** Names of the headers that hold secrets. */
  secretHeaders: ReadonlySet<string>;
  body: string | undefined;
}

export interface HttpAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: Buffer;
  /** Whether the body exceeds the read limit. */
  truncated: boolean;
  /** Whether another attempt would get the same answer, whatever the status is. */
  isFinal?: boolean;
}

export interface SendOptions {
  /** From 1. */
  attempt: number;
  /** From when it is sent to the end of the answer. */
  timeoutMs: number;
  /** The organization, among those that wait for a host. */
  tenantKey: TenantKey;
  signal: AbortSignal;
  /** Called right before the request leaves. If it throws, nothing is sent. */
  sending(): Promise<void>;
}

/** Bytes of an answer that are read. */
export const maxAnswerBytes = 4 * 1024 * 1024;

/** The port for requests of steps. */
export interface HttpSender {
  /** @throws EgressFailure; the reason of `signal`; what `sending` throws */
  send(request: HttpRequest, options: SendOptions): Promise<HttpAnswer>;
}

/** By the environment of the run; test runs of workflows have the one of tests. */
export type HttpSenders = Readonly<Record<Environment, HttpSender>>;
