import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { httpServer } from '../loopback-server.ts';
import { until } from '../until.ts';
import { problemOfEvent } from './event-schemas.ts';

/** A request as it arrived. */
export interface Received {
  /** Ms since the epoch. */
  at: number;
  path: string;
  headers: IncomingHttpHeaders;
  /** Names as they were written, each followed by its value. */
  rawHeaders: string[];
  body: string;
}

/**
 * - an answer
 * - hang: nothing is ever answered
 * - reset: the connection ends without an answer
 * - drip: the headers at once, then a byte now and then for ever
 */
export type Reply =
  | {
      status: number;
      headers?: Record<string, string> | string[];
      body?: string | Buffer;
      afterMs?: number;
      after?: Promise<unknown>;
    }
  | 'hang'
  | 'reset'
  | 'drip';

/** What the nth request to a path, from 1, is answered. */
export type Script = (nth: number, request: Received) => Reply;

/** A customer's server with a configured behaviour. */
export interface Receiver {
  url(path: string): string;
  /** Requests to a path so far. */
  to(path: string): Received[];
  /** Waits until there are so many. */
  has(path: string, count: number): Promise<Received[]>;
  script(path: string, script: Script): void;
  /** Most requests to a path that were under way at the same time. */
  maxConcurrent(path: string): number;
  /** @throws Error when an event arrived that is not as the catalogue says */
  close(): Promise<void>;
}

const ok: Reply = { status: 200, body: 'thanks' };

async function send(response: ServerResponse, reply: Reply): Promise<void> {
  if (reply === 'hang') return;
  if (reply === 'reset') return void response.destroy();
  if (reply === 'drip') {
    response.writeHead(200);
    for (let count = 0; count < 10_000 && !response.destroyed; count++) {
      response.write('.');
      await sleep(20);
    }
    return;
  }
  if (reply.afterMs) await sleep(reply.afterMs);
  await reply.after;
  response.writeHead(reply.status, reply.headers).end(reply.body);
}

export async function openReceiver(): Promise<Receiver> {
  const received = new Map<string, Received[]>();
  const scripts = new Map<string, Script>();
  const concurrency = new Map<string, { now: number; max: number }>();
  const to = (path: string) => received.get(path) ?? [];
  const server = await httpServer((request, response) => {
    const path = request.url!;
    const chunks: Buffer[] = [];
    const count = concurrency.get(path) ?? { now: 0, max: 0 };
    concurrency.set(path, count);
    count.now++;
    count.max = Math.max(count.max, count.now);
    response.on('close', () => count.now--);
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { headers, rawHeaders } = request;
      const one = { at: Date.now(), path, headers, rawHeaders, body: Buffer.concat(chunks).toString() };
      received.set(path, [...to(path), one]);
      const reply = scripts.get(path)?.(to(path).length, one) ?? ok;
      send(response, reply).catch(() => {});
    });
  });
  return {
    url: (path) => `http://127.0.0.1:${server.port}${path}`,
    to,
    has: (path, count) => until(`${count} requests to ${path}`, async () => to(path).length >= count && to(path)),
    script: (path, script) => void scripts.set(path, script),
    maxConcurrent: (path) => concurrency.get(path)?.max ?? 0,
    async close() {
      await server.close();
      const events = [...received.values()].flat().filter(({ headers }) => headers['webhook-id']);
      const problems = events.flatMap(({ body }) => problemOfEvent(body) ?? []);
      if (problems.length > 0) throw new Error(`Events that do not fit their schema: ${problems[0]}`);
    },
  };
}
