import type { TenantKey } from '../platform/security/tenant-key.ts';

/** A JSON Schema document, draft 2020-12. */
export type JsonSchema = Record<string, unknown>;

/** A request to a text model. */
export interface TextRequest {
  provider: string;
  /** The published name; adapters map it to the provider's name. */
  model: string;
  prompt: string;
  system?: string;
  /** 0 to 1. Not sent to models that do not support it; `ignored` then contains it. */
  temperature?: number;
  /** Limit of the output, including thinking. Reduced to the limit of the model. */
  maxTokens?: number;
  /**
   * Requests JSON that matches this schema. Providers do not guarantee it, so the caller must validate the text.
   */
  outputSchema?: JsonSchema;
}

export interface TextAnswer {
  text: string;
  /** All input tokens, including cached ones. */
  inputTokens: number;
  /** All output tokens, including thinking. */
  outputTokens: number;
  /** The provider that answered and its name of the model. Absent in the sandbox. */
  served?: { provider: string; model: string };
  /** The text was cut off at a token limit. */
  truncated?: true;
  /** Parameters that the model does not support. */
  ignored?: 'temperature'[];
}

/** The context of one call. */
export interface Call {
  /** The organization of the call. */
  tenantKey: TenantKey;
  /** The attempt of the step, from 1. */
  attempt: number;
  /** Aborts the call and its HTTP request. */
  signal: AbortSignal;
  /**
   * Receives parts of the text as they arrive; the provider then gets a request for a stream. A failed call may already
   * have sent parts: another attempt begins its text again.
   */
  onDelta?(text: string): void;
}

export interface TextModel {
  /** Whether the call needs neither the network nor time. The worker then executes the step without an activity of its own. */
  isInstant(request: TextRequest): boolean;
  /**
   * Makes one attempt. The caller decides about retries.
   * @throws ProviderFailure, or the signal's reason once it is aborted
   */
  generate(request: TextRequest, call: Call): Promise<TextAnswer>;
}
