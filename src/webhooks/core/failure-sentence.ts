import type { EgressErrorClass } from '../../platform/core/egress-errors.ts';
import type { unforeseen, unreadable } from './retry-schedule.ts';

const sentences: Record<
  EgressErrorClass | typeof unforeseen | typeof unreadable | 'subscription_off' | 'subscription_deleted' | 'discarded',
  string
> = {
  forbidden_destination: 'its URL is not allowed',
  invalid_request: 'its URL or its headers make no valid request',
  dns: 'its hostname has no address',
  connect: 'it cannot be reached',
  tls: 'its TLS handshake failed',
  timeout: 'it did not answer in time',
  reset: 'it closed the connection before its answer was complete',
  malformed_response: 'its answer is not valid HTTP',
  response_too_large: 'the headers of its answer are too large',
  unforeseen: 'the attempt failed unexpectedly, as the log says',
  secret_unreadable: 'its secret cannot be opened: SEALING_KEYS lacks its key',
  subscription_off: 'it was turned off',
  subscription_deleted: 'it was deleted',
  discarded: 'an operator discarded it',
};

/** The reason why an attempt failed, for operators: without any text of a tenant or its receiver. */
export const failureSentence = (errorClass: string | null, statusCode: number | null): string =>
  errorClass === null
    ? `HTTP ${statusCode}`
    : Object.hasOwn(sentences, errorClass)
      ? `${sentences[errorClass as keyof typeof sentences]} (${errorClass})`
      : errorClass;

const maxNameLength = 60;

/** A webhook as operators see it in Temporal: its name and its host, as code in Markdown. */
export function describeWebhook(name: string, url: string): string {
  const host = URL.parse(url)?.host ?? 'an invalid URL';
  const shown = name.replaceAll(/[`\s]/g, ' ').slice(0, maxNameLength).trim();
  return `\`${shown}\` at \`${host}\``;
}
