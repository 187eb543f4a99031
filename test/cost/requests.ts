import type { Outcome } from './cost-walk.ts';

export interface Sent {
  method: string;
  path: string;
  body?: string | FormData | undefined;
  headers?: Record<string, string>;
  /** Reads a stream of events to its end. */
  readsEvents?: boolean;
}

/** What `fetch` says when the connection was closed before its answer had come: as good a refusal as another. */
const isClosed = (error: unknown) => error instanceof TypeError && error.message === 'fetch failed';

/** Sends a request and reads the answer as fast as it comes, without looking at it. */
export async function exchange(base: string, sent: Sent): Promise<Outcome> {
  const { method, path, body, headers, readsEvents } = sent;
  const init: RequestInit = { method, redirect: 'manual' };
  if (headers) init.headers = headers;
  if (body !== undefined) init.body = body;
  const response = await fetch(base + path, init).catch((error: unknown) => {
    if (isClosed(error)) return undefined;
    throw error;
  });
  if (!response) return {};
  let answerBytes = 0;
  const type = response.headers.get('content-type') ?? '';
  const isStream = type.startsWith('text/event-stream');
  if (isStream && !readsEvents) await response.body?.cancel();
  else for await (const chunk of response.body ?? []) answerBytes += chunk.byteLength;
  const isCounted = /^application\/(json|yaml)/.test(type);
  return { status: response.status, answerBytes: isCounted ? answerBytes : 0 };
}

/** Whether the process still serves others. */
export const isServing = async (base: string): Promise<boolean> => (await fetch(`${base}/api/version`)).ok;
