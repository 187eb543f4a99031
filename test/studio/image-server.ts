import type { RequestListener } from 'node:http';
import { httpServer } from '../loopback-server.ts';

/** A server of images, and of what is none. */
export interface ImageServer {
  /** The address of a path, with the query that a test wants. */
  at(path: string, query?: string): string;
  /** How often a path was asked for. */
  asked(path: string): number;
  close(): Promise<void>;
}

/** @param answers by path: a body, or what answers */
export async function openImageServer(answers: Record<string, Uint8Array | RequestListener>): Promise<ImageServer> {
  const counts = new Map<string, number>();
  const server = await httpServer((request, response) => {
    const path = request.url!.split('?')[0]!;
    counts.set(path, (counts.get(path) ?? 0) + 1);
    const answer = answers[path];
    if (typeof answer === 'function') answer(request, response);
    else if (answer) response.writeHead(200, { 'content-type': 'text/plain' }).end(answer);
    else response.writeHead(404).end('nothing');
  });
  return {
    at: (path, query) => `http://127.0.0.1:${server.port}${path}${query === undefined ? '' : `?${query}`}`,
    asked: (path) => counts.get(path) ?? 0,
    close: () => server.close(),
  };
}
