import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AccessTokenRefused, AuthExpired } from '../../src/connections/failures.ts';
import { addRedirect } from '../../src/connections/redirects.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { CalendarGone } from '../../src/scheduling/calendars/clients/ports.ts';
import { pullCalendar } from '../../src/scheduling/calendars/pull-calendar.ts';
import { connectionExpired } from '../../src/scheduling/calendars/sync-state.ts';
import { calendarIds } from '../../src/scheduling/core/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { openConnections, providerOf } from '../connections/open-connections.ts';
import { type FakeOAuth, startFakeOAuth } from '../fakes/oauth/oauth-server.ts';
import { whileHeld } from '../hold-lock.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';

let product: StartedProduct;
let google: FakeOAuth;
let microsoft: FakeOAuth;
/** The client of a process whose calendar services are on this machine, with the tenant's live key. */
let live: ApiClient;
let liveUrl: string;

beforeAll(async () => {
  const api = (path: string, account: string) => {
    if (path === '/calendar/v3/calendars/primary') return { id: account, summary: 'Ada' };
    if (path === '/v1.0/me/calendar') return { id: 'AAMk', owner: { name: 'Ada', address: account } };
    return undefined;
  };
  google = await startFakeOAuth({ like: 'google', api });
  microsoft = await startFakeOAuth({ like: 'microsoft', api });
  product = await sharedProduct();
  ({ api: liveUrl } = await product.serve({
    GOOGLE_CALENDAR_CLIENT_ID: google.clientId,
    GOOGLE_CALENDAR_CLIENT_SECRET: google.clientSecret,
    GOOGLE_CALENDAR_BASE_URL: google.origin,
    GOOGLE_CALENDAR_AUTH_URL: google.authorizeUrl,
    GOOGLE_CALENDAR_TOKEN_URL: google.tokenUrl,
    GOOGLE_CALENDAR_REVOKE_URL: google.revokeUrl,
    MICROSOFT_CALENDAR_CLIENT_ID: microsoft.clientId,
    MICROSOFT_CALENDAR_CLIENT_SECRET: microsoft.clientSecret,
    MICROSOFT_CALENDAR_BASE_URL: `${microsoft.origin}/v1.0/`,
    MICROSOFT_CALENDAR_AUTH_URL: microsoft.authorizeUrl,
    MICROSOFT_CALENDAR_TOKEN_URL: microsoft.tokenUrl,
  }));
  live = apiClient(liveUrl, product.tenant.liveKey);
  await addRedirect(product.database, product.tenant.organizationId, 'https://app.example.com/done', true);
});
afterAll(async () => {
  await product.close();
  await Promise.all([google.close(), microsoft.close()]);
});

const base = '/api/v1/scheduling';
const connect = (client: ApiClient, body: object) => client.post(`${base}/calendars/connect`, body);

/** Goes where a browser is sent, at the process that it would reach by PUBLIC_URL. */
const visit = (address: string | URL, by: string, headers?: Record<string, string>) => {
  const { pathname, search } = new URL(address);
  return fetch(new URL(pathname + search, by), { redirect: 'manual', ...(headers && { headers }) });
};

/** The calendars of a key, newest first. */
const calendarsOf = async (by: ApiClient) => (await by.get(`${base}/calendars`)).body.data.calendars;
/** What a sync that goes on beside it does not change. */
const idsOf = async (by: ApiClient) => (await calendarsOf(by)).map(({ id }: { id: string }) => id);

describe('in the sandbox', () => {
  const begin = async (body: object = {}) => {
    const { status, body: said } = await connect(product.api, { service: 'google', ...body });
    expect(status).toBe(200);
    return said.data as { authUrl: string; state: string; expiresIn: number };
  };
  const consent = async (authUrl: string) => {
    const sent = await visit(authUrl, product.process.api);
    expect(sent.status).toBe(302);
    return sent.headers.get('location')!;
  };

  test('an account is connected without any page, and the browser is sent back', async () => {
    const { authUrl, state, expiresIn } = await begin({ redirectUrl: 'https://app.example.com/done?tab=1' });
    expect([expiresIn, new URL(authUrl).pathname]).toEqual([600, '/sandbox/oauth/authorize']);
    const callback = await consent(authUrl);
    expect(new URL(callback).pathname).toBe(`${base}/calendars/callback`);
    const head = await fetch(new URL(new URL(callback).pathname + new URL(callback).search, product.process.api), {
      method: 'HEAD',
    });
    expect(head.status).toBe(200);
    const back = await visit(callback, product.process.api);
    expect([back.status, back.headers.get('cache-control')]).toEqual([302, 'no-store']);
    const location = new URL(back.headers.get('location')!);
    expect(location.origin + location.pathname).toBe('https://app.example.com/done');
    expect(Object.fromEntries(location.searchParams)).toEqual({
      tab: '1',
      status: 'connected',
      calendarId: expect.stringMatching(/^cal_[0-9a-f]{32}$/),
    });
    const [calendar] = await calendarsOf(product.api);
    expect(calendar).toMatchObject({ service: 'google', name: 'Sandbox (google)' });
    expect((await visit(callback, product.process.api)).status).toBe(400);
    expect((await visit(authUrl, product.process.api)).status).toBe(400);
    expect(state).toMatch(/^[\w-]{43}$/);
  });

  test('without an address to go back to a page says how it went, of each host its own calendar', async () => {
    const { body } = await product.api.post(`${base}/hosts`, { name: 'Room' });
    const before = (await calendarsOf(product.api)).length;
    for (let count = 0; count < 2; count++) {
      const back = await visit(await consent((await begin({ hostId: body.data.id })).authUrl), product.process.api);
      expect([back.status, back.headers.get('content-type')]).toEqual([200, 'text/html; charset=UTF-8']);
      expect(back.headers.get('content-security-policy')).toMatch("default-src 'none'");
      expect(await back.text()).toMatch('Calendar connected');
    }
    expect((await calendarsOf(product.api)).length).toBe(before + 1);
  });

  test('a calendar whose access ends at the same moment is deleted all the same', async () => {
    const redirectUrl = 'https://app.example.com/done';
    const back = await visit(await consent((await begin({ redirectUrl })).authUrl), product.process.api);
    const id = new URL(back.headers.get('location')!).searchParams.get('calendarId')!;
    const uuid = calendarIds.parse(id)!;
    const tokens = `update oauth_connection set version = version + 1
      where id = (select connection_id from calendar where id = '${uuid}')`;
    // The end of access changes the tokens, and then the calendar.
    const { deleting } = await whileHeld(product, tokens, async (end) => {
      const begun = product.api.request('DELETE', `${base}/calendars/${id}`);
      const waiting = 'select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))';
      await until('it waits for that', async () => (await end.query(waiting)).rows.length > 0);
      await end.query('update calendar set status = $1 where id = $2', ['auth_expired', uuid]);
      await end.query('commit');
      return { deleting: begun };
    });
    expect((await deleting).status).toBe(200);
    expect(await idsOf(product.api)).not.toContain(id);
  });

  test('a refusal is reported in either way', async () => {
    const denied = { loginHint: 'sandbox:denied' };
    const withPage = await visit(await consent((await begin(denied)).authUrl), product.process.api);
    expect([withPage.status, await withPage.text()]).toEqual([400, expect.stringMatching('refused')]);
    const redirectUrl = 'https://app.example.com/done?status=x';
    const sent = await visit(await consent((await begin({ ...denied, redirectUrl })).authUrl), product.process.api);
    expect(sent.headers.get('location')).toBe('https://app.example.com/done?status=error&error=access_denied');
  });

  test('an answer without a request is a page, or JSON, and shows nothing of the sent data', async () => {
    const unknown = `${base}/calendars/callback?state=<script>&code=<b>`;
    const shown = await visit(new URL(unknown, product.process.api), product.process.api);
    expect(shown.status).toBe(400);
    expect(await shown.text()).not.toMatch(/<script>|<b>/);
    const outcomeOf = await visit(new URL(unknown, product.process.api), product.process.api, {
      accept: 'application/json',
    });
    expect(outcomeOf.status).toBe(400);
    expect(await outcomeOf.json()).toMatchObject({
      error: { code: 'validation_error', details: { errors: [{ path: 'state', message: expect.any(String) }] } },
    });
    expect((await visit(`http://x/v1/scheduling/calendars/callback`, product.process.api)).status).toBe(400);
  });

  test.each([
    [{}, 400, 'service'],
    [{ service: 'apple' }, 400, 'service'],
    [{ service: 'google', redirectUrl: 'https://evil.example/' }, 400, 'redirectUrl'],
    [{ service: 'google', loginHint: 'a\nb' }, 400, 'loginHint'],
    [{ service: 'google', loginHint: 'x'.repeat(321) }, 400, 'loginHint'],
    [{ service: 'google', hostId: 'hst_nobody' }, 404, undefined],
  ])('%j is refused', async (body, status, path) => {
    const answer = await product.api.post(`${base}/calendars/connect`, body);
    expect([answer.status, answer.body.error.details.errors?.[0].path]).toEqual([status, path]);
  });

  test('other names of the services are taken', async () => {
    for (const body of [{ provider: 'office365' }, { service: 'outlook' }, { provider: 'google' }]) {
      expect((await connect(product.api, body)).status).toBe(200);
    }
  });
});

describe('with a live key', () => {
  test('a service without a client is not configured', async () => {
    const { status, body } = await connect(apiClient(product.process.api, product.tenant.liveKey), {
      service: 'google',
    });
    expect([status, body.error]).toMatchObject([
      503,
      { code: 'provider_not_configured', details: { provider: 'google' } },
    ]);
  });

  test.each(['google', 'microsoft'] as const)(
    '%s: the account of its owner is connected, and again',
    async (service) => {
      const fake = { google, microsoft }[service];
      const ids = [];
      for (let count = 0; count < 2; count++) {
        const { body } = await connect(live, { service, redirectUrl: 'https://app.example.com/done' });
        const callback = await fake.consent(body.data.authUrl, { account: 'Ada@example.com' });
        expect(callback.pathname).toBe(`${base}/calendars/callback`);
        const { searchParams } = new URL((await visit(callback, liveUrl)).headers.get('location')!);
        expect(searchParams.get('status')).toBe('connected');
        ids.push(searchParams.get('calendarId'));
      }
      expect(ids[1]).toBe(ids[0]);
      const [calendar, ...others] = (await calendarsOf(live)).filter(
        (one: { service: string }) => one.service === service,
      );
      expect([calendar.name, others]).toEqual(['Ada@example.com', []]);
    },
  );

  test('a service that does not say whose account it is, and an exchange that fails, connect nothing', async () => {
    const before = await idsOf(live);
    const { body } = await connect(live, { service: 'google' });
    const callback = await google.consent(body.data.authUrl, { account: 'x'.repeat(400) });
    expect((await visit(callback, liveUrl)).status).toBe(400);
    const other = await connect(live, { service: 'google', redirectUrl: 'https://app.example.com/done' });
    const late = await google.consent(other.body.data.authUrl);
    google.next('lose the answer');
    const back = await visit(late, liveUrl);
    expect(back.headers.get('location')).toBe('https://app.example.com/done?status=error&error=exchange_failed');
    expect(await idsOf(live)).toEqual(before);
  });

  test('a host that was deleted meanwhile gets no calendar', async () => {
    const { body: host } = await live.post(`${base}/hosts`, { name: 'Gone' });
    const { body } = await connect(live, { service: 'google', hostId: host.data.id });
    await live.request('DELETE', `${base}/hosts/${host.data.id}`);
    const before = await idsOf(live);
    const back = await visit(await google.consent(body.data.authUrl, { account: 'new@example.com' }), liveUrl);
    expect([back.status, await back.text()]).toEqual([400, expect.stringMatching('host of this calendar')]);
    expect(await idsOf(live)).toEqual(before);
  });

  const consentOf = async (account: string) => {
    const { body } = await connect(live, { service: 'google', redirectUrl: 'https://app.example.com/done' });
    return google.consent(body.data.authUrl, { account });
  };
  /** @returns the calendar's id */
  const answer = async (callback: URL): Promise<string> => {
    const back = await visit(callback, liveUrl);
    return new URL(back.headers.get('location')!).searchParams.get('calendarId')!;
  };
  const find = async (id: string) => (await calendarsOf(live)).find((one: { id: string }) => one.id === id);

  test('a calendar that is connected again while a sync of it fails stays connected', async () => {
    const id = await answer(await consentOf('back@example.com'));
    const organizationId = organizationIds.parse(product.tenant.organizationId)!;
    const scope = new Scope(product.database, { organizationId, environment: 'live' }, 'test');
    const list = async () => {
      await answer(await consentOf('back@example.com'));
      throw new CalendarGone();
    };
    const services = { calendarClients: { clientFor: () => ({ list }) } } as never;
    const outcome = await pullCalendar(services, scope, calendarIds.parse(id)!, AbortSignal.timeout(60_000));
    expect(outcome).toEqual({ superseded: true });
    expect((await find(id)).status).not.toBe('disconnected');
  });

  test('what is granted anew while a calendar is deleted is revoked too', async () => {
    // The provider is waited for five seconds, in which a busy machine may not connect: then it begins anew.
    await until('the account is connected while the provider is asked', async () => {
      const id = await answer(await consentOf('twice@example.com'));
      const again = await consentOf('twice@example.com');
      const connected = Promise.withResolvers<void>();
      const before = google.journal.length;
      const revocations = () => google.journal.slice(before).filter(({ endpoint }) => endpoint === 'revoke');
      google.next({ after: connected.promise });
      const deleted = live.request('DELETE', `${base}/calendars/${id}`);
      await until('the provider is asked', async () => revocations().length === 1);
      const isInTime = (await answer(again)) === id;
      connected.resolve();
      expect((await deleted).status).toBe(200);
      if (!isInTime) return false;
      expect(new Set(revocations().map(({ form }) => form.token)).size).toBe(2);
      expect(await find(id)).toBeUndefined();
      return true;
    });
  });

  test('access that was withdrawn is shown, and connecting again ends that; deleting revokes', async () => {
    const connectAccount = async () => answer(await consentOf('gone@example.com'));
    const id = await connectAccount();
    google.grants.revokeAccount('gone@example.com');
    const providers = { google: providerOf('google', google) };
    const { connections, close } = openConnections(product.database, { providers, onExpired: connectionExpired });
    const { rows } = await product.database.pool.query(
      "select id, organization_id from oauth_connection where account_id = 'gone@example.com'",
    );
    const scope = new Scope(product.database, { organizationId: rows[0].organization_id, environment: 'live' }, 'test');
    const refuse = async () => {
      throw new AccessTokenRefused();
    };
    await expect(connections.withAccessToken(scope, rows[0].id, refuse)).rejects.toThrow(AuthExpired);
    await close();
    expect(await find(id)).toMatchObject({ status: 'auth_expired', lastError: { code: 'auth_expired' } });
    expect((await live.post(`${base}/calendars/${id}/sync`)).status).toBe(409);
    expect(await connectAccount()).toBe(id);
    // Workers of the shared product have no client of the service: their sync may have failed already.
    const { status, lastError } = await find(id);
    expect([status, lastError?.code]).not.toContain('auth_expired');
    const before = google.journal.length;
    expect((await live.request('DELETE', `${base}/calendars/${id}`)).status).toBe(200);
    expect(google.journal.slice(before)).toMatchObject([{ endpoint: 'revoke', worked: true }]);
    expect(await find(id)).toBeUndefined();
  });
});
