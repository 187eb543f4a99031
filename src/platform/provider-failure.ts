/** The kinds of provider failures, and whether a retry can succeed. */
export const failureKinds = {
  unavailable: true,
  overloaded: true,
  rate_limited: true,
  timeout: true,
  connection: true,
  malformed_answer: true,
  auth: false,
  quota: false,
  content_refused: false,
  invalid_request: false,
  retired_model: false,
} as const;

export type FailureKind = keyof typeof failureKinds;

export interface FailureFacts {
  /** Set if the provider states it; otherwise the kind decides. */
  retryable?: boolean;
  retryAfterMs?: number;
  /** Status of the HTTP response, if there was one. */
  status?: number;
  /** The provider's request id, for its support. */
  requestId?: string;
}

/** A failure of a provider. The message may be shown to tenants: it contains no credentials and no URLs. */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure';
  readonly kind: FailureKind;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;
  readonly requestId: string | undefined;

  constructor(kind: FailureKind, message: string, facts: FailureFacts = {}) {
    super(message);
    this.kind = kind;
    this.retryable = facts.retryable ?? failureKinds[kind];
    this.retryAfterMs = this.retryable ? facts.retryAfterMs : undefined;
    this.status = facts.status;
    this.requestId = facts.requestId;
  }
}
