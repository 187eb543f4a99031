import { type Answer, apiClient, untilTaken } from '../api-client.ts';
import type { Recorder } from './recorder.ts';

/** A caller of one dialect, below the prefix that its guides name, whose every answer is recorded. */
export interface Caller {
  dialect: 'A' | 'B';
  /** Asks and records. The label is the method and the path as written here, with what sets the request apart. */
  ask(request: Asked): Promise<Answer>;
}

export interface Asked {
  /** `METHOD path`, with parameters in braces. */
  endpoint: string;
  /** What sets this request apart from others to the same endpoint. */
  what?: string;
  /** Values of the parameters, by their names. */
  ids?: Record<string, string>;
  query?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Another key, or none. */
  key?: string | null;
  /** For what only prepares or waits. */
  unrecorded?: boolean;
}

export function openCaller(recorder: Recorder, api: string, tenantKey: string, dialect: 'A' | 'B'): Caller {
  const prefix = dialect === 'A' ? '/api/v1' : '/v1';
  return {
    dialect,
    async ask({ endpoint, what = '', ids = {}, query = '', body, headers = {}, key = tenantKey, unrecorded }) {
      const [method, template] = endpoint.split(' ') as [string, string];
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name]!);
      const client = apiClient(api, key ?? undefined);
      const variant = { 'x-api-variant': dialect, 'x-forwarded-for': '203.0.113.7' };
      const send = () => client.request(method, `${prefix}${path}${query}`, body, { ...variant, ...headers });
      const answer = await untilTaken(`${endpoint} is available`, send);
      if (!unrecorded)
        recorder.record([dialect, endpoint + query, what].filter((part) => part !== '').join(' '), answer);
      return answer;
    },
  };
}

/** The same request three times with one Idempotency-Key, the last time with another body. @returns the first answer */
export async function askThrice(caller: Caller, asked: Asked, other: unknown): Promise<Answer> {
  const headers = { ...asked.headers, 'idempotency-key': `${caller.dialect} ${asked.endpoint}` };
  const what = (nth: string) => [asked.what, nth].filter(Boolean).join(' ');
  const first = await caller.ask({ ...asked, headers });
  await caller.ask({ ...asked, headers, what: what('replayed') });
  await caller.ask({ ...asked, headers, body: other, what: what('with the key of another body') });
  return first;
}
