import type { Egress, EgressResponse } from '../../../platform/egress/egress.ts';
import { EgressFailure } from '../../../platform/egress/egress-failure.ts';
import type { HostQueue } from './host-queue.ts';
import { type HttpAnswer, type HttpRequest, type HttpSender, maxAnswerBytes, type SendOptions } from './http-sender.ts';

const maxRedirects = 3;

type Sent = Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body'>;

const ofBody = /^content-(type|encoding|language)$/i;

/** The request that follows a redirect; undefined where the answer is none, or leads to another origin. */
function redirected(request: Sent, { status, headers }: EgressResponse): Sent | undefined {
  const { location } = headers;
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  const url = URL.parse(location, request.url);
  if (url?.origin !== new URL(request.url).origin) return undefined;
  const { method } = request;
  const becomesGet = status === 303 ? method !== 'GET' && method !== 'HEAD' : status < 303 && method === 'POST';
  if (!becomesGet) return { ...request, url: url.href };
  const kept = Object.entries(request.headers).filter(([name]) => !ofBody.test(name));
  return { method: 'GET', url: url.href, headers: Object.fromEntries(kept), body: undefined };
}

interface LiveSenderOptions {
  egress: Pick<Egress, 'request' | 'checkDestination'>;
  hosts: HostQueue;
  /** The host whose rate counts; undefined if there is none. */
  limitedHost(url: string): string | undefined;
}

/** Sends requests through the egress guard, at the rate of their host. Redirects are followed within the origin. */
export function liveSender({ egress, hosts, limitedHost }: LiveSenderOptions): HttpSender {
  async function follow(first: Sent, { timeoutMs, signal }: SendOptions): Promise<HttpAnswer> {
    const end = performance.now() + timeoutMs;
    let request = first;
    for (let redirects = 0; ; redirects++) {
      const { method, url, headers, body } = request;
      const response = await egress.request({
        method,
        url,
        headers,
        ...(body !== undefined && { body }),
        deadlineMs: Math.max(1, end - performance.now()),
        maxResponseBytes: maxAnswerBytes,
        signal,
      });
      const next = redirects < maxRedirects ? redirected(request, response) : undefined;
      if (!next) return response;
      request = next;
    }
  }
  return {
    async send(request, options) {
      const problem = egress.checkDestination(request.url);
      if (problem !== undefined) {
        throw new EgressFailure('forbidden_destination', `Requests to this URL are not allowed: ${problem}.`);
      }
      const host = limitedHost(request.url);
      if (host !== undefined) await hosts.wait(host, options.tenantKey, options.signal);
      await options.sending();
      return follow(request, options);
    },
  };
}
