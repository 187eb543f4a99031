/** A JSON Schema document, as in draft 2020-12. */
export type JsonSchema = Record<string, unknown>;

/** What a model is asked. */
export interface TextRequest {
  provider: string;
  /** The published name; adapters map it to the provider's own. */
  model: string;
  prompt: string;
  system?: string;
  /** 0 to 1. Models that know no temperature are asked without it, and the answer says so. */
  temperature?: number;
  /** Of the answer, thinking included. More than the model can write counts as what it can. */
  maxTokens?: number;
  /**
   * The answer is to be JSON that this schema accepts. Each provider is asked in its own form, as far as that goes:
   * the text still has to be checked.
   */
  outputSchema?: JsonSchema;
}

export interface TextAnswer {
  text: string;
  /** Everything that was read, from a cache too. */
  inputTokens: number;
  /** Everything that was written, thinking included. */
  outputTokens: number;
  /** Who answered: the provider and its own name for the model. Absent in the sandbox. */
  served?: { provider: string; model: string };
  /** The text ends where a limit of tokens was reached. */
  truncated?: true;
  /** What was asked for and the model does not know. */
  ignored?: 'temperature'[];
}

/** How a call is made. */
export interface Call {
  /** Whose work it is. */
  organizationId: string;
  /** 1 for the first attempt of this piece of work. */
  attempt: number;
  /** Ends the call, down to its HTTP request. */
  signal: AbortSignal;
}

export interface TextModel {
  /** True when the answer needs neither the network nor time: such a call is made inside the worker at once. */
  isInstant(request: TextRequest): boolean;
  /**
   * Makes one attempt; whoever calls owns repetition.
   * @throws ProviderFailure, or the signal's reason once it is aborted
   */
  generate(request: TextRequest, call: Call): Promise<TextAnswer>;
}

/** Every way in which a provider fails, as the rest of the product knows it, and whether another attempt may succeed. */
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
  /** Where the provider itself says so; else as its kind has it. */
  retryable?: boolean;
  retryAfterMs?: number;
  /** Of the HTTP answer, where there was one. */
  status?: number;
  /** The provider's id of the request, for its support. */
  requestId?: string;
}

/** A provider's failure. Its message may be shown to the tenant: it holds no credentials and no address. */
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
