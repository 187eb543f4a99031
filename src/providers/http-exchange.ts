/** Far more than the longest text that any model writes. */
const maxAnswerBytes = 32 * 1024 * 1024;

type Dispatcher = NonNullable<RequestInit['dispatcher']>;

/**
 * Node's own connections, without their limit of 300 s for an answer to begin: models think for longer, and the SDKs
 * watch over the time as a whole.
 */
function patientDispatcher(): Dispatcher | undefined {
  // The place where Node and every copy of undici keep the one they share; absent until the first request is made.
  const shared = () => (globalThis as Record<symbol, unknown>)[Symbol.for('undici.globalDispatcher.1')];
  if (!shared()) return undefined;
  const dispatch: Dispatcher['dispatch'] = (options, handler) =>
    (shared() as Dispatcher).dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  return { dispatch } as Dispatcher;
}

async function readWhole(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxAnswerBytes) throw new Error(`An answer of more than ${maxAnswerBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * The HTTP side of one call, handed to an SDK as its `fetch`. It keeps what SDKs drop (Google's loses the headers of
 * errors), reads answers to their end while the SDK's time limit still runs, and follows no redirect with a key in hand.
 */
export class HttpExchange {
  status: number | undefined;
  headers: Headers | undefined;
  /** Of an answer that is an error, where it is JSON. */
  errorBody: unknown;
  /** What went wrong when no whole answer came. */
  broken: unknown;

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    try {
      const dispatcher = patientDispatcher();
      const response = await fetch(input, { ...init, redirect: 'manual', ...(dispatcher && { dispatcher }) });
      this.status = response.status;
      this.headers = response.headers;
      const body = await readWhole(response);
      if (!response.ok) this.errorBody = parseJson(body);
      const headers = new Headers(response.headers);
      // The body is decoded by now, and as long as it is.
      for (const name of ['content-encoding', 'content-length']) headers.delete(name);
      const { status, statusText } = response;
      return new Response(body.length > 0 ? body : null, { status, statusText, headers });
    } catch (error) {
      this.broken = error;
      throw error;
    }
  };
}
