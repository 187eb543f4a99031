import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { createLink } from '../../src/accounts/links.ts';
import { sqlOn } from '../../src/platform/database/sql.ts';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import {
  clientWith,
  consoleHeaders,
  cookieOf,
  newEmail,
  ownOrigin,
  type Person,
  personWith,
  sendForm,
} from './people.ts';

let product: StartedProduct;
let base: string;
let owner: Person;

beforeAll(async () => {
  product = await sharedProduct();
  base = product.process.api;
  owner = await personWith({ ...product, base, organizationId: product.tenant.organizationId }, 'owner');
});
afterAll(() => product.close());

const inOrganization = () => ({ ...product, base, organizationId: product.tenant.organizationId });

describe('signing in', () => {
  test('a link shows a page with one button, and only its form signs in, once', async () => {
    const { token } = await createLink(sqlOn(product.database.pool), owner.email, accountTimes());
    const url = `${base}/api/auth/link/${token}`;
    for (let time = 0; time < 3; time++) {
      const page = await fetch(url);
      expect(page.status).toBe(200);
      expect(page.headers.getSetCookie()).toEqual([]);
      const html = await page.text();
      expect(html.match(/<button/g)).toHaveLength(1);
      expect(html).not.toContain('<script');
      expect(page.headers.get('referrer-policy')).toBe('no-referrer');
      expect(page.headers.get('cache-control')).toBe('no-store');
      expect(page.headers.get('x-robots-tag')).toBe('noindex');
    }
    const answers = await Promise.all([sendForm(url), sendForm(url), sendForm(url)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 404, 404]);
    const entered = answers.find(({ status }) => status === 303)!;
    expect(entered.headers.get('location')).toBe('/app');
    const [set] = entered.headers.getSetCookie();
    expect(set).toMatch(/^atelier=[^;]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/);
    const person = clientWith(base, { cookie: cookieOf(entered) });
    const { status, body } = await person.get('/api/v1/account');
    expect(status).toBe(200);
    expect(body.data.user.email).toBe(owner.email);
    expect(body.data.organizations).toEqual([
      { id: product.tenant.organizationId, name: 'Test', slug: expect.stringMatching(/^test-/), role: 'owner' },
    ]);
    expect((await fetch(url)).status).toBe(404);
  });

  test('people go where they wanted to, and never to another site', async () => {
    const ways: [string | undefined, string][] = [
      ['/app/runs?status=failed', '/app/runs?status=failed'],
      [undefined, '/app'],
      ['//evil.example', '/app'],
      ['/\\evil.example', '/app'],
      ['/\t/evil.example', '/app'],
      ['https://evil.example/app', '/app'],
      ['/app/..//evil.example', '/app'],
      ['javascript:alert(1)', '/app'],
      ['%2f%2fevil.example', '/app'],
      ['/%2f%2fevil.example', '/%2f%2fevil.example'],
    ];
    for (const [next, expected] of ways) {
      const query = next === undefined ? '' : `?next=${encodeURIComponent(next)}`;
      const page = await (await fetch(`${base}/api/auth/sign-in${query}`)).text();
      expect(page).not.toMatch(/(?:href|action)="(?!\/(?!\/))/);
      const { token } = await createLink(sqlOn(product.database.pool), owner.email, accountTimes());
      const url = `${base}/api/auth/link/${token}${query}`;
      const action = /action="([^"]+)"/.exec(await (await fetch(url)).text())![1]!;
      const entered = await sendForm(`${base}${action}`);
      expect([next, entered.headers.get('location')]).toEqual([next, expected]);
    }
  });

  test('links are mailed five times an hour to one address and twenty times for one client, with the same answer', async () => {
    const ask = async (email: string, client: string) => {
      const answer = await sendForm(`${base}/api/auth/link`, { email }, { 'x-forwarded-for': client });
      return `${answer.status} ${(await answer.text()).replaceAll(/nonce-[\w-]+|[\w-]{32,}/g, '')}`;
    };
    const linksOf = async (emails: string[]): Promise<number> => {
      const sql = `select count(*)::int as links from auth."verification" where "identifier" like 'link:%' and "value" = any($1)`;
      return (await product.database.pool.query(sql, [emails])).rows[0].links;
    };
    const people = await Promise.all(Array.from({ length: 6 }, () => personWith(inOrganization(), 'viewer')));
    const emails = people.map(({ email }) => email);
    const answers = new Set<string>();
    for (let time = 0; time < 7; time++) answers.add(await ask(emails[0]!, `203.0.113.${time}`));
    for (let time = 0; time < 5; time++)
      for (const email of emails.slice(1)) answers.add(await ask(email, '203.0.113.100'));
    answers.add(await ask(newEmail(), '203.0.113.200'));
    expect([answers.size, [...answers][0]!.startsWith('200 ')]).toEqual([1, true]);
    await until('the links are made', async () => (await linksOf(emails)) >= 25);
    // Whatever was asked for later is made later.
    const last = await personWith(inOrganization(), 'viewer');
    await ask(last.email, '203.0.113.201');
    await until('a later one is made', async () => (await linksOf([last.email])) === 1);
    expect([await linksOf(emails.slice(0, 1)), await linksOf(emails.slice(1))]).toEqual([5, 20]);
  });

  test('forms of other sites are refused', async () => {
    const { token } = await createLink(sqlOn(product.database.pool), owner.email, accountTimes());
    const url = `${base}/api/auth/link/${token}`;
    expect((await sendForm(url, {}, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await sendForm(url, {}, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await sendForm(url)).status).toBe(303);
  });

  test('an invitation makes its person a member once, and brings a new session', async () => {
    const email = newEmail();
    const fixed = 'atelier=chosen-by-somebody.c2lnbmF0dXJl';
    const person = await personWith(inOrganization(), 'viewer', email);
    expect(person.cookie).not.toBe(fixed);
    expect((await clientWith(base, { cookie: fixed }).get('/api/v1/account')).status).toBe(401);
    const again = personWith(inOrganization(), 'owner', email);
    await expect(again).rejects.toThrow('member of the organization already');
  });
});

describe('a session in place of a key', () => {
  const organization = () => product.tenant.organizationId;

  test('reads and writes for the organization and the environment that its headers name', async () => {
    const created = await owner.api.post('/api/v1/workflows', { name: 'By a person', steps: [] });
    expect(created.status).toBe(201);
    const path = `/api/v1/workflows/${created.body.data.id}`;
    expect((await owner.api.get(path)).status).toBe(200);
    expect((await product.api.get(path)).status).toBe(200);
    const live = clientWith(base, consoleHeaders(owner.cookie, organization(), 'live'));
    expect((await live.get(path)).status).toBe(404);
  });

  test('needs an organization of the person', async () => {
    const { organizationId: foreign } = await product.createTenant();
    const with_ = (headers: Record<string, string>) => clientWith(base, { cookie: owner.cookie, ...headers });
    const absent = await with_({}).get('/api/v1/workflows');
    expect(absent.status).toBe(400);
    expect(absent.body.error.details.errors[0].path).toBe('X-Atelier-Organization');
    const chat = await with_({ origin: ownOrigin, 'x-atelier-csrf': '1' }).post('/api/chat', { message: 'Hello' });
    expect(chat).toMatchObject({ status: 400, body: { success: false, error: 'No organization found' } });
    for (const id of [foreign, 'org_nonsense', `org_${'0'.repeat(32)}`]) {
      expect((await with_({ 'x-atelier-organization': id }).get('/api/v1/workflows')).status).toBe(404);
    }
    const environment = await with_({ 'x-atelier-organization': organization(), 'x-atelier-environment': 'both' }).get(
      '/api/v1/workflows',
    );
    expect(environment.status).toBe(400);
    // They are counted, as the person's.
    for (const { headers } of [absent, environment]) expect(headers.get('x-ratelimit-limit')).toBe('120');
  });

  test('beside a key the organization is refused, and a cookie is not read', async () => {
    const { testKey } = product.tenant;
    const keyed = apiClient(base, testKey);
    expect((await keyed.get('/api/v1/workflows', { cookie: 'atelier=nonsense' })).status).toBe(200);
    const both = await keyed.get('/api/v1/workflows', { 'x-atelier-organization': organization() });
    expect(both.status).toBe(400);
    expect(both.body.error.details.errors[0].path).toBe('X-Atelier-Organization');
  });

  test('changes need our own origin and the header of the console', async () => {
    const all = consoleHeaders(owner.cookie, organization());
    const { origin: _, ...withoutOrigin } = all;
    const { 'x-atelier-csrf': __, ...withoutHeader } = all;
    const write = (headers: Record<string, string>) =>
      clientWith(base, headers).post('/api/v1/workflows', { name: 'Forged', steps: [] });
    const refused = [
      withoutHeader,
      withoutOrigin,
      { ...all, origin: 'https://evil.example' },
      { ...all, origin: 'null' },
      { ...withoutOrigin, 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of refused) {
      const { status, body } = await write(headers);
      expect({ status, error: body.error }).toMatchObject({
        status: 403,
        error: { code: 'forbidden', details: { reason: 'csrf' } },
      });
    }
    expect((await write({ ...withoutOrigin, 'sec-fetch-site': 'same-origin' })).status).toBe(201);
    const read = (more: Record<string, string>) =>
      clientWith(base, { ...withoutOrigin, ...more }).get('/api/v1/workflows');
    expect((await read({})).status).toBe(200);
    expect((await read({ origin: 'https://evil.example' })).status).toBe(401);
    expect((await read({ 'sec-fetch-site': 'cross-site' })).status).toBe(401);
  });

  test('the audit log names the person', async () => {
    const created = await owner.api.post('/api/v1/webhooks', {
      name: 'Hook',
      url: 'https://example.com/',
      events: ['*'],
    });
    expect(created.status).toBe(201);
    const { rows } = await product.database.pool.query(
      `select actor from audit_log where action = 'webhook.create' and subject_id = $1`,
      [webhookIds.parse(created.body.data.id)],
    );
    expect(rows).toEqual([{ actor: expect.stringMatching(/^usr_[0-9a-f]{32}$/) }]);
  });
});

describe('the end of a session', () => {
  test('is everywhere at once: streams, waiting requests and the next request', async () => {
    const person = await personWith(inOrganization(), 'member');
    const workflow = await person.api.post('/api/v1/workflows', {
      name: 'Slow',
      steps: [{ id: 'slow', type: 'prompt', prompt: 'sandbox:slow=600' }],
    });
    const { id } = workflow.body.data;
    const started = await person.api.post(`/api/v1/workflows/${id}/execute`, { input: 'x', async: true });
    const headers = consoleHeaders(person.cookie, product.tenant.organizationId);
    const stream = await fetch(`${base}/api/v1/runs/${started.body.data.runId}/events`, { headers });
    expect(stream.status).toBe(200);
    const streamEnds = stream.text();
    const waiting = person.api.post(`/api/v1/workflows/${id}/execute`, { input: 'x' });
    const revoked = await person.api.post('/api/v1/account/sessions/revoke');
    expect(revoked).toMatchObject({ status: 200, body: { data: { revoked: 1 } } });
    const endedAt = performance.now();
    expect((await person.api.get('/api/v1/workflows')).status).toBe(401);
    await streamEnds;
    expect((await waiting).status).toBe(401);
    // Far less than the runs take, on a busy machine too.
    expect(performance.now() - endedAt).toBeLessThan(60_000);
    // Ends its runs.
    expect((await product.api.delete(`/api/v1/workflows/${id}`)).status).toBe(200);
  });
});
