import { AppError } from '../platform/errors.ts';
import type { ToolServerId, ToolServerName } from './core/server-ids.ts';
import type { ToolResult } from './core/tool-result.ts';

/** A JSON object as a model or a server wrote it. */
export type JsonObject = Record<string, unknown>;

/** A tool as its server describes it. */
export interface ListedTool {
  tool: string;
  /** At most 1,024 characters. */
  description: string;
  /** JSON Schema of an object. Written by the server: not to be compiled here. */
  inputSchema: JsonObject;
  /** Whether a call whose end is unknown may be repeated. */
  idempotent: boolean;
}

/** A tool that a model may be offered. */
export interface DeclaredTool extends ListedTool {
  server: ToolServerName;
  /** `<server>_<tool>`; unique among the tools that are declared together. */
  name: string;
}

export interface ToolCall {
  server: ToolServerName;
  /** The server's own name of the tool. */
  tool: string;
  args: JsonObject;
  /** The caller's id of the call, for logs. */
  callId: string;
  /** From 1. Others before it began and did not end. */
  attempt: number;
  /** One for each call, of all that there are. */
  key: string;
  /** Whether a test run calls it: then nothing is stored or sent. */
  isTrial?: boolean;
}

/** A server that could not list its tools. 503, with Retry-After. */
export class ToolServerUnavailable extends AppError {
  override name = 'ToolServerUnavailable';
  readonly server: ToolServerId;

  /** @param why a sentence for callers */
  constructor(server: ToolServerId, why?: string) {
    const message = `The tool server ${server} is not available.`;
    super('service_unavailable', why ? `${message} ${why}` : message, undefined, { retryAfter: 10 });
    this.server = server;
  }
}

/** A call that failed for a reason that the model may read. */
export class ToolFailure extends Error {
  override name = 'ToolFailure';
}

/** A server answered with more than is read. */
export class AnswerTooLarge extends ToolFailure {
  override name = 'AnswerTooLarge';

  constructor(maxBytes: number) {
    super(`The tool answered with more than ${maxBytes / (1_024 * 1_024)} MiB. Ask for less.`);
  }
}

/** A server answered with JSON that takes too long to read. */
export class AnswerTooComplex extends ToolFailure {
  override name = 'AnswerTooComplex';

  constructor() {
    super(
      'The tool answered with JSON that is nested too deeply or has too many objects, lists and members. Ask for less.',
    );
  }
}

/** A server sent more messages besides its answer than the limit. */
export class TooManyNotifications extends ToolFailure {
  override name = 'TooManyNotifications';

  constructor(max: number) {
    super(`The tool sent more than ${max.toLocaleString('en')} notifications. The call was ended.`);
  }
}

/** A server sent more requests to us than are answered. */
export class TooManyServerRequests extends ToolFailure {
  override name = 'TooManyServerRequests';

  constructor(max: number) {
    super(`The tool sent more than ${max} requests. The call was ended.`);
  }
}

/** A connection to one server of one tenant. */
export interface ToolConnection {
  list(signal: AbortSignal): Promise<ListedTool[]>;
  /**
   * A refusal of the server is a result. An exception means that the connection can no longer be used.
   * @throws ToolFailure, other errors, the reason of `signal`
   */
  call(tool: string, args: JsonObject, signal: AbortSignal): Promise<ToolResult>;
  /** Whether the server can be asked again. */
  readonly isOpen: boolean;
  close(): Promise<void>;
}
