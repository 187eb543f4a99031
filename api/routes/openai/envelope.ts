import type { ErrorKind, FieldError } from '../../../src/platform/errors.ts';
import type { Envelope } from '../../envelopes.ts';

const typesOfKinds: Partial<Record<ErrorKind, string>> = {
  unauthorized: 'authentication_error',
  forbidden: 'permission_error',
  rate_limit_exceeded: 'rate_limit_error',
  insufficient_credits: 'insufficient_quota',
  ai_provider_error: 'server_error',
  internal_error: 'server_error',
  service_unavailable: 'server_error',
  provider_not_configured: 'server_error',
};

/** `messages.0.content` as OpenAI writes it: `messages[0].content`. */
const inBrackets = (path: string) =>
  path
    .split('.')
    .map((part, index) => (index > 0 && part !== '' && Number.isInteger(Number(part)) ? `[${part}]` : `.${part}`))
    .join('')
    .slice(1);

/** A failure in OpenAI's shape, with our code. `param` is the first parameter that is wrong. */
export const openaiEnvelope: Envelope = ({ kind, message, facts }, { code }) => {
  const [first] = (facts?.errors ?? []) as FieldError[];
  return {
    error: {
      message: first ? first.message : message,
      type: typesOfKinds[kind] ?? 'invalid_request_error',
      param: first && first.path !== '' ? inBrackets(first.path) : null,
      code,
    },
  };
};
