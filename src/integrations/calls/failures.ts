import type { FieldError } from '../../platform/errors.ts';

/** All kinds of failures of a provider call. The first four are published codes. */
export type FailureKind =
  | 'auth_expired'
  | 'rate_limited'
  | 'invalid_payload'
  | 'action_failed'
  /** The provider certainly did nothing, and may accept a retry: it is overloaded, or was not reached. */
  | 'not_done'
  /** The answer was lost, so the provider may have performed the request. */
  | 'lost';

interface Facts {
  /** The provider's own code, such as `channel_not_found`: letters, digits and `_.-`, at most 100. */
  providerCode?: string | undefined;
  /** How long the provider asks to wait. */
  retryAfterSeconds?: number | undefined;
  /** For `invalid_payload`: paths within the payload. */
  errors?: readonly FieldError[];
  cause?: unknown;
}

const codePattern = /^[A-Za-z0-9_.-]{1,100}$/;

/** A failed provider call. Of the provider's answer, the message contains only its code. */
export class IntegrationFailure extends Error {
  override name = 'IntegrationFailure';
  readonly kind: FailureKind;
  readonly providerCode: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly errors: readonly FieldError[];

  constructor(kind: FailureKind, { providerCode, retryAfterSeconds, errors = [], cause }: Facts = {}) {
    const code = providerCode !== undefined && codePattern.test(providerCode) ? providerCode : undefined;
    super(code === undefined ? kind : `${kind} (${code})`, { cause });
    this.kind = kind;
    this.providerCode = code;
    this.retryAfterSeconds = retryAfterSeconds;
    this.errors = errors;
  }
}
