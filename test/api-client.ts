import { setTimeout as sleep } from 'node:timers/promises';
import { conformanceOf } from './openapi/conformance.ts';
import { until } from './until.ts';

/** An answer as a test looks at it. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says, and says so when it is wrong
  body: any;
}

export interface ApiClient {
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  delete(path: string, headers?: Record<string, string>): Promise<Answer>;
}

/** A stream of many runs never closes. */
async function read(response: Response, { pathname }: URL): Promise<string> {
  const isEndless = response.ok && pathname.endsWith('/v1/runs/events');
  if (!isEndless) return response.text();
  await response.body?.cancel();
  return '';
}

/**
 * Asks again up to three times while the API says that it is not available, as clients do: on a busy machine a request may
 * find no free connection to PostgreSQL in time. What stays so is answered.
 */
async function askAgain(ask: () => Promise<Answer>): Promise<Answer> {
  for (let again = 0; ; again++) {
    const answer = await ask();
    const isBusy = answer.status === 503 && answer.body?.error?.code === 'service_unavailable';
    if (!isBusy || again === 3) return answer;
    await sleep(1_000);
  }
}

/**
 * Asks until the answer is another than 503, which says that nothing was done and that the request may be repeated: a busy
 * machine may have no connection to PostgreSQL free in time, or no process for costly work.
 */
export const untilTaken = <One extends { status: number }>(what: string, ask: () => Promise<One>): Promise<One> =>
  until(what, async () => {
    const answer = await ask();
    return answer.status !== 503 && answer;
  });

const isRaw = (body: unknown): body is string | FormData => typeof body === 'string' || body instanceof FormData;

/**
 * Speaks to the API as any REST client would. A string or a form is sent as it is, anything else as JSON. Every answer of a
 * documented route is held against the OpenAPI document of the API. `get` asks again where `request` would be answered 503.
 */
export function apiClient(base: string, key?: string): ApiClient {
  async function request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const url = new URL(path, base);
    const conformance = await conformanceOf(base);
    const response = await fetch(url, {
      method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
    });
    const text = await read(response, url);
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const answer = {
      status: response.status,
      headers: response.headers,
      body: isJson && text ? JSON.parse(text) : text,
    };
    conformance.check({ method, path: url.pathname, ...answer });
    return answer;
  }
  return {
    request,
    get: (path, headers) => askAgain(() => request('GET', path, undefined, headers)),
    post: (path, body, headers) => request('POST', path, body, headers),
    patch: (path, body, headers) => request('PATCH', path, body, headers),
    delete: (path, headers) => request('DELETE', path, undefined, headers),
  };
}
