import { request } from 'node:http';
import type { Answer } from '../api-client.ts';
import { conformanceOf } from '../openapi/conformance.ts';

export interface RawRequest {
  method: string;
  /** Sent as it is: nothing is escaped and no dots are resolved. */
  path: string;
  /** A header with several values is sent as often. */
  headers?: Record<string, string | string[]>;
  /** Several chunks are sent one by one, without a Content-Length. */
  body?: Uint8Array | string | (Uint8Array | string)[];
}

/** A request that `fetch` would put in order before it sent it. */
export async function rawRequest(base: string, { method, path, headers = {}, body }: RawRequest): Promise<Answer> {
  const conformance = await conformanceOf(base);
  const chunks = Array.isArray(body) ? body : undefined;
  const whole = body === undefined || chunks ? undefined : Buffer.from(body as string);
  const answer = await new Promise<Answer>((resolve, reject) => {
    const { hostname, port } = new URL(base);
    const sent = request({
      hostname,
      port,
      method,
      path,
      agent: false,
      headers: { ...(whole && { 'content-length': whole.length }), ...headers },
    });
    sent.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const received = new Headers(Object.entries(response.headers) as [string, string][]);
        const isJson = received.get('content-type')?.startsWith('application/json');
        resolve({ status: response.statusCode!, headers: received, body: isJson && text ? JSON.parse(text) : text });
      });
    });
    // A server may close the connection before the end of the request; its answer counts.
    sent.on('error', (error) => setImmediate(() => reject(error)));
    for (const chunk of chunks ?? []) sent.write(chunk);
    sent.end(whole);
  });
  // The document speaks of paths as a server reads them, without the dots.
  conformance.check({ method, path: URL.parse(path, base)?.pathname ?? path, ...answer });
  return answer;
}
