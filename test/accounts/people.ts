import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import type { Role } from '../../src/tenancy/core/roles.ts';
import { type Answer, type ApiClient, apiClient } from '../api-client.ts';

/** Where the pages of a test's process say that they are: PUBLIC_URL's usual value. */
export const ownOrigin = 'http://127.0.0.1:3000';

let made = 0;
export const newEmail = (): string => `person-${process.pid}-${++made}@example.com`;

/** Sends a form, as a page without script does. */
export const sendForm = (url: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: ownOrigin, 'sec-fetch-site': 'same-origin', ...headers },
    body: new URLSearchParams(fields),
  });

/** The session cookie that an answer sets, as a browser sends it back. */
export function cookieOf(answer: Response): string {
  const set = answer.headers.getSetCookie().find((cookie) => /^(__Host-)?atelier=[^;]/.test(cookie));
  if (set === undefined) throw new Error(`The answer ${answer.status} sets no session cookie.`);
  return set.slice(0, set.indexOf(';'));
}

export interface Person {
  email: string;
  role: Role;
  cookie: string;
  /** Calls the API as the console does, for the organization and the environment `test`. */
  api: ApiClient;
}

/** What the console sends with each request. */
export const consoleHeaders = (cookie: string, organizationId: string, environment = 'test') => ({
  cookie,
  origin: ownOrigin,
  'x-atelier-csrf': '1',
  'x-atelier-organization': organizationId,
  'x-atelier-environment': environment,
});

/** A client that sends these headers with every request. */
export function clientWith(base: string, headers: Record<string, string>): ApiClient {
  const plain = apiClient(base);
  const send = (method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> =>
    plain.request(method, path, body, { ...headers, ...more });
  return {
    request: send,
    get: (path, more) => send('GET', path, undefined, more),
    post: (path, body, more) => send('POST', path, body, more),
    patch: (path, body, more) => send('PATCH', path, body, more),
    delete: (path, more) => send('DELETE', path, undefined, more),
  };
}

/** A person with a role in an organization, who has accepted an invitation and is signed in. */
export async function personWith(
  { database, base, organizationId }: { database: Database; base: string; organizationId: string },
  role: Role,
  email = newEmail(),
): Promise<Person> {
  const { token } = await invite(
    database,
    { organizationId: organizationIds.parse(organizationId)!, email, role },
    { actor: 'operator' },
    { times: accountTimes() },
  );
  const cookie = cookieOf(await sendForm(`${base}/api/auth/invitations/${token}`));
  return { email, role, cookie, api: clientWith(base, consoleHeaders(cookie, organizationId)) };
}
