import type { Call, JsonSchema, TextAnswer, TextModel } from '../ports.ts';

/** A tool that a model may call. */
export interface ToolDeclaration {
  /** A letter or `_`, then at most 63 of `[A-Za-z0-9_-]`: what all providers accept. */
  name: string;
  description: string;
  /** The schema of an object. */
  inputSchema: JsonSchema;
}

export interface ToolCall {
  /** Unique within its answer. The provider's own, or generated if the provider gives none. */
  id: string;
  name: string;
  /**
   * The arguments that the model wrote. They need not match the tool's schema, and the name need not be a declared one.
   */
  args: Record<string, unknown>;
  /** The beginning of arguments that are no JSON object. `args` is then empty, and the call is not made. */
  unreadable?: string;
}

interface ToolResult {
  /** `id` and `name` of the call. */
  callId: string;
  name: string;
  /** For the model. It is passed on as data of the tool, never as an instruction. */
  text: string;
  isError: boolean;
}

/** One entry of a conversation. */
export type ChatMessage =
  | { role: 'user'; text: string }
  /** An earlier reply that is only known as text. */
  | { role: 'assistant'; text: string }
  /**
   * An answer that called tools: `content` of its ChatAnswer, unchanged. It is JSON in the form of its provider and holds
   * signatures of thoughts, so no other provider accepts it, and a changed one is refused.
   */
  | { role: 'model'; content: unknown }
  /** Follows a message of the role `model`, with a result for each of its calls, in their order. */
  | { role: 'tools'; results: ToolResult[] };

/** A request to a model for the next part of a conversation. */
export interface ChatRequest {
  provider: string;
  /** The published name; adapters map it to the provider's name. */
  model: string;
  system?: string;
  /** 0 to 1. Not sent to models that do not support it; `ignored` then contains it. */
  temperature?: number;
  /** Limit of the output, including thinking. Reduced to the limit of the model. */
  maxTokens?: number;
  /** At least one; the last is of the role `user` or `tools`. */
  messages: ChatMessage[];
  /** Without any the model answers in words, even if it called tools earlier in the conversation. */
  tools?: readonly ToolDeclaration[];
  /** As that of `TextRequest`. */
  outputSchema?: JsonSchema;
}

/**
 * `text` is the reply or, with `calls`, the text beside them. Thoughts of the model are not part of it. With
 * `truncated` there are no calls, because they may be incomplete.
 */
export interface ChatAnswer extends TextAnswer {
  /** In the order in which the model made them. Empty for a reply. */
  calls: ToolCall[];
  /** JSON, for a message of the role `model`. At most 4 MiB. */
  content: unknown;
}

/** The context of one call. With `onDelta` the provider gets a request for a stream. */
export interface ChatCall extends Call {
  /**
   * Gets parts of the reply as they arrive; joined they are the answer's `text`. An answer with calls has none. While tools
   * are declared, text is held back until the answer is complete, because a call may follow it. A call that fails may have
   * given parts already: another attempt begins its text anew.
   */
  onDelta?(text: string): void;
  /** Receives the text that the model wrote beside its calls, as soon as the answer is complete. */
  onThought?(text: string): void;
}

export interface ChatModel {
  /**
   * Makes one attempt. The caller decides about retries.
   * @throws ProviderFailure, or the signal's reason once it is aborted
   */
  reply(request: ChatRequest, call: ChatCall): Promise<ChatAnswer>;
}

/** A provider's models, for single prompts and for conversations. */
export type Models = TextModel & ChatModel;
