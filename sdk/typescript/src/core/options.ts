/** How a client connects. */
export interface ClientOptions {
  /** The address of the service: `https://api.example.com`. */
  baseUrl: string;
  /** An API key, or a token for browsers. Without it no `Authorization` header is sent. */
  apiKey?: string | undefined;
  /** How long an attempt may take, and how long a stream may be silent, in milliseconds. Default: 60,000. */
  timeoutMs?: number | undefined;
  /** How often a request is repeated after it failed in a way that may pass. Default: 2. */
  maxRetries?: number | undefined;
  /** Headers that are sent with every request. */
  headers?: Record<string, string> | undefined;
  /** Makes the requests in place of the global `fetch`. */
  fetch?: typeof fetch | undefined;
}

/** What one call may differ in. */
export interface RequestOptions {
  /** Ends the call: it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Replaces the client's `timeoutMs`. */
  timeoutMs?: number | undefined;
  /** Replaces the client's `maxRetries`. */
  maxRetries?: number | undefined;
  /** Identifies the effect of a POST. By default each call that takes one generates its own. Repetitions keep it. */
  idempotencyKey?: string | undefined;
  /** Further headers. */
  headers?: Record<string, string> | undefined;
}

/** Options for reading a stream. */
export interface StreamOptions extends Omit<RequestOptions, 'idempotencyKey'> {
  /** The id of the last event that was received. The stream continues after it. */
  lastEventId?: string | undefined;
}

/** The data of an answer, without its envelope. */
export type Data<Answer> = Answer extends { success: true; data: infer Inner } ? Inner : Answer;

/** A form whose files may be given in any of the forms that `toUpload` takes. */
export type Form<Body> = {
  [Name in keyof Body]: Blob extends Body[Name] ? UploadSource : Body[Name];
};

/** The sources of a file. A stream is sent as it is read, and such a request is never repeated. */
export type UploadSource =
  | Blob
  | ArrayBuffer
  | Uint8Array<ArrayBuffer>
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;
