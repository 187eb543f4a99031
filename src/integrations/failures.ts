import type { FieldError } from '../platform/errors.ts';

/** The closed list of what may become of a call to a provider. The first four are published codes. */
export type FailureKind =
  | 'auth_expired'
  | 'rate_limited'
  | 'invalid_payload'
  | 'action_failed'
  /** The provider certainly did nothing, and may do it later: it is overloaded, or was not reached. */
  | 'not_done'
  /** It is not known whether the provider did it: the answer was lost. */
  | 'lost';

interface Facts {
  /** Of the provider's own, such as `channel_not_found`: letters, digits and `_.-`, at most 100. */
  providerCode?: string | undefined;
  /** How long the provider asks to wait. */
  retryAfterSeconds?: number | undefined;
  /** Of `invalid_payload`: paths within the payload. */
  errors?: readonly FieldError[];
  cause?: unknown;
}

const codePattern = /^[A-Za-z0-9_.-]{1,100}$/;

/** What a provider did not do, and why. Its message holds no text of the provider but its code. */
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
