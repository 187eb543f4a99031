/** What a model is asked. */
export interface TextRequest {
  provider: string;
  /** The published name; adapters map it to the provider's own. */
  model: string;
  prompt: string;
  system?: string;
  temperature?: number;
  maxTokens?: number;
}

export interface TextAnswer {
  text: string;
  inputTokens: number;
  outputTokens: number;
}

/** How a call is made. */
export interface Call {
  /** 1 for the first attempt of this piece of work. */
  attempt: number;
  signal: AbortSignal;
}

export interface TextModel {
  /** True when the answer needs neither the network nor time: such a call is made inside the worker at once. */
  isInstant(request: TextRequest): boolean;
  /** @throws ProviderFailure */
  generate(request: TextRequest, call: Call): Promise<TextAnswer>;
}

/** Every way in which a provider fails, as the rest of the product knows it. */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure';
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { retryable, retryAfterMs }: { retryable: boolean; retryAfterMs?: number }) {
    super(message);
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}
