/** Well above the longest output of any model. */
const maxAnswerBytes = 32 * 1024 * 1024;

type Dispatcher = NonNullable<RequestInit['dispatcher']>;

/**
 * Node's global dispatcher without its timeout of 300 s for the response headers: models can think longer, and the SDKs
 * enforce a timeout for the whole call.
 */
function patientDispatcher(): Dispatcher | undefined {
  // Node and all copies of undici share this dispatcher. It does not exist before the first request.
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
    if (size > maxAnswerBytes) throw new Error(`The response is larger than ${maxAnswerBytes} bytes.`);
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
 * The HTTP exchange of one call, passed to an SDK as `fetch`. It records what SDKs discard (Google's drops the headers of
 * errors), reads the whole response within the SDK's timeout, and follows no redirect, because that would send the key.
 */
export class HttpExchange {
  status: number | undefined;
  headers: Headers | undefined;
  /** Body of an error response, if it is JSON. */
  errorBody: unknown;
  /** The error, when no complete response was received. */
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
      // The body is already decoded, so these headers no longer apply.
      for (const name of ['content-encoding', 'content-length']) headers.delete(name);
      const { status, statusText } = response;
      return new Response(body.length > 0 ? body : null, { status, statusText, headers });
    } catch (error) {
      this.broken = error;
      throw error;
    }
  };
}
