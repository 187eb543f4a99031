import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { consoleHeaders, newEmail, type Person, personWith, sendForm } from './people.ts';

let product: StartedProduct;
let base: string;
let owner: Person;
let admin: Person;
let member: Person;
let viewer: Person;
const within = (organizationId = product.tenant.organizationId) => ({ ...product, base, organizationId });

beforeAll(async () => {
  product = await sharedProduct();
  base = product.process.api;
  owner = await personWith(within(), 'owner');
  admin = await personWith(within(), 'admin');
  member = await personWith(within(), 'member');
  viewer = await personWith(within(), 'viewer');
});
afterAll(() => product.close());

const idOf = async (person: Person): Promise<string> => {
  const { body } = await owner.api.get('/api/v1/members?limit=100');
  return body.data.members.find(({ email }: { email: string }) => email === person.email).id;
};

test.each(['keys', 'members', 'invitations'])(
  'a page behind the end of the %s says how many there are',
  async (list) => {
    const { organizationId, testKey } = await product.createTenant();
    const person = await personWith(within(organizationId), 'viewer');
    const pages = [person.api, apiClient(base, testKey)].map(async (api) => {
      const [first, behind] = await Promise.all([api.get(`/api/v1/${list}`), api.get(`/api/v1/${list}?offset=10`)]);
      const { total } = first.body.data.pagination;
      expect(total).toBeGreaterThan(0);
      expect(behind.body.data).toMatchObject({ [list]: [], pagination: { total, offset: 10, hasMore: false } });
    });
    await Promise.all(pages);
  },
);

describe('keys', () => {
  test('are made, listed, renamed, rotated and revoked by people', async () => {
    const created = await admin.api.post('/api/v1/keys', { name: 'Backend', environment: 'live' });
    expect(created.status).toBe(201);
    const { id, key, ...record } = created.body.data;
    expect(record).toMatchObject({ name: 'Backend', environment: 'live', status: 'active', expiresAt: null });
    expect(record.createdBy).toMatch(/^usr_/);
    expect((await apiClient(base, key).get('/api/v1/health')).status).toBe(200);
    // A use is written in the background.
    const body = await until('the key was used', async () => {
      const listed = (await admin.api.get('/api/v1/keys')).body;
      return listed.data.keys[0].lastUsedAt !== null && listed;
    });
    expect(body.data.keys[0]).toEqual({ id, ...record, lastUsedAt: expect.any(String) });
    expect(JSON.stringify(body)).not.toContain(key);
    const renamed = await admin.api.patch(`/api/v1/keys/${id}`, { name: 'Frontend' });
    expect(renamed.body.data.name).toBe('Frontend');
    const rotated = await admin.api.post(`/api/v1/keys/${id}/rotate`, { overlapSeconds: 3600 });
    expect(rotated).toMatchObject({ status: 201, body: { data: { name: 'Frontend', status: 'active' } } });
    expect((await apiClient(base, key).get('/api/v1/health')).status).toBe(200);
    const old = (await admin.api.get('/api/v1/keys')).body.data.keys.find((one: { id: string }) => one.id === id);
    expect(old.status).toBe('expiring');
    const next = rotated.body.data;
    expect((await admin.api.post(`/api/v1/keys/${next.id}/rotate`, { overlapSeconds: 0 })).status).toBe(201);
    expect((await apiClient(base, next.key).get('/api/v1/health')).status).toBe(401);
    expect((await admin.api.delete(`/api/v1/keys/${id}`)).status).toBe(200);
    expect((await apiClient(base, key).get('/api/v1/health')).status).toBe(401);
    expect((await admin.api.post(`/api/v1/keys/${id}/rotate`, { overlapSeconds: 0 })).status).toBe(409);
  });

  test('are replaced once, however many rotations are asked for at once', async () => {
    const { id, expiresAt } = (
      await admin.api.post('/api/v1/keys', {
        name: 'Contested',
        environment: 'test',
        expiresAt: new Date(Date.now() + 60_000).toISOString(),
      })
    ).body.data;
    // The overlap is longer than the key has left, so that its end does not change.
    const rotate = () => admin.api.post(`/api/v1/keys/${id}/rotate`, { overlapSeconds: 3600 });
    const answers = await Promise.all(Array.from({ length: 12 }, rotate));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(11).fill(409)]);
    expect(answers.find(({ status }) => status === 409)?.body.error).toMatchObject({ code: 'conflict' });
    expect((await rotate()).status).toBe(409);
    const { keys } = (await admin.api.get('/api/v1/keys?limit=100')).body.data;
    const named = keys.filter(({ name }: { name: string }) => name === 'Contested');
    expect(named).toMatchObject([{ expiresAt }, { id, expiresAt }]);
  });

  test('are at most 500 that can be used, however many are asked for at once in both environments', async () => {
    const { organizationId, testKey, liveKey } = await product.createTenant({ plan: 'enterprise' });
    await product.database.pool.query(
      `insert into api_key (id, organization_id, environment, name, hash, prefix, last_four, scopes, variant, created_at)
       select gen_random_uuid(), $1::uuid, 'test', 'n', sha256((n || $1::text)::bytea), 'sk_test_', 'abcd', '{keys}', 'A',
              now() from generate_series(1, 495 - (select count(*)::int from api_key where organization_id = $1::uuid)) n`,
      [organizationIds.parse(organizationId)],
    );
    const [ofTest, ofLive] = [apiClient(base, testKey), apiClient(base, liveKey)];
    const make = () => [
      ofTest.post('/api/v1/keys', { name: 'Another', environment: 'test' }),
      ofLive.post('/api/v1/keys', { name: 'Another', environment: 'live' }),
    ];
    const answers = await Promise.all(Array.from({ length: 10 }, make).flat());
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(5).fill(201), ...Array(15).fill(403)]);
  });

  test('give nothing away that their maker lacks', async () => {
    const scopes = ['keys', 'runs:read'];
    const { body } = await admin.api.post('/api/v1/keys', {
      name: 'Narrow',
      environment: 'test',
      scopes,
      expiresAt: new Date(Date.now() + 30 * 86_400_000).toISOString(),
    });
    const narrow = apiClient(base, body.data.key);
    const made = await narrow.post('/api/v1/keys', { name: 'Child', environment: 'test' });
    expect(made.body.data).toMatchObject({ scopes, expiresAt: body.data.expiresAt, createdBy: body.data.id });
    const wider = await narrow.post('/api/v1/keys', { name: 'W', environment: 'test', scopes: ['studio'] });
    expect(wider).toMatchObject({ status: 403, body: { error: { details: { required: 'studio' } } } });
    expect((await narrow.post('/api/v1/keys', { name: 'L', environment: 'live' })).status).toBe(403);
    const later = { name: 'Later', environment: 'test', expiresAt: new Date(Date.now() + 1e11).toISOString() };
    expect((await narrow.post('/api/v1/keys', later)).status).toBe(400);
    const others = (await narrow.get('/api/v1/keys?limit=100')).body.data.keys;
    expect(others.every(({ environment }: { environment: string }) => environment === 'test')).toBe(true);
    const whole = others.find((one: { scopes: string[] }) => one.scopes.length > 2);
    expect((await narrow.post(`/api/v1/keys/${whole.id}/rotate`, { overlapSeconds: 0 })).status).toBe(403);
    // Nor does it get a key that outlives it by rotating one.
    const lasting = (await admin.api.post('/api/v1/keys', { name: 'Lasting', environment: 'test', scopes })).body.data;
    const outlives = await narrow.post(`/api/v1/keys/${lasting.id}/rotate`, { overlapSeconds: 0 });
    expect(outlives).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', details: { expiresAt: body.data.expiresAt } } },
    });
    expect((await apiClient(base, lasting.key).get('/api/v1/keys')).status).toBe(200);
    const itself = await narrow.post(`/api/v1/keys/${body.data.id}/rotate`, { overlapSeconds: 0 });
    expect(itself).toMatchObject({ status: 201, body: { data: { scopes, expiresAt: body.data.expiresAt } } });
  });

  test('with an Idempotency-Key one is made', async () => {
    const headers = { 'idempotency-key': 'one-key' };
    const ask = () => admin.api.post('/api/v1/keys', { name: 'Once', environment: 'test' }, headers);
    const [first, second] = [await ask(), await ask()];
    expect(second.body.data).toEqual(first.body.data);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
  });

  test('are not given again to a key that could not have made them', async () => {
    const make = async (given: object) =>
      (await admin.api.post('/api/v1/keys', { environment: 'test', ...given })).body;
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const weaker = (await make({ name: 'Weaker', scopes: ['keys'] })).data;
    const shorter = (await make({ name: 'Shorter', expiresAt })).data;
    const { id } = (await make({ name: 'Rotated' })).data;
    const requests: [string, object][] = [
      ['/api/v1/keys', { name: 'Seen twice', environment: 'test' }],
      [`/api/v1/keys/${id}/rotate`, { overlapSeconds: 3600 }],
    ];
    for (const [path, asked] of requests) {
      const headers = { 'idempotency-key': path };
      const first = await product.api.post(path, asked, headers);
      expect(first.status).toBe(201);
      for (const { key } of [weaker, shorter]) {
        const again = await apiClient(base, key).post(path, asked, headers);
        expect(again).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
        expect(JSON.stringify(again.body)).not.toContain(first.body.data.key);
      }
      expect((await product.api.post(path, asked, headers)).body.data.key).toBe(first.body.data.key);
      expect((await admin.api.post(path, asked, headers)).body.data.key).toBe(first.body.data.key);
    }
    // One that rotates itself ends earlier than what it made, and still gets the lost answer.
    const itself = apiClient(base, shorter.key);
    const rotate = () =>
      itself.post(`/api/v1/keys/${shorter.id}/rotate`, { overlapSeconds: 3600 }, { 'idempotency-key': 'itself' });
    expect((await rotate()).status).toBe(201);
    expect(await rotate()).toMatchObject({ status: 201, body: { data: { expiresAt } } });
  });

  test('are not made by whoever has lost access while the body was on its way', async () => {
    const { organizationId, testKey } = await product.createTenant();
    const keyed = apiClient(base, testKey);
    const body = JSON.stringify({ name: 'Late', environment: 'test' });
    /** Sends the head. @returns sends the body, once the head was accepted */
    const begin = async (credentials: Record<string, string>) => {
      const sent = request(`${base}/api/v1/keys`, {
        method: 'POST',
        headers: {
          ...credentials,
          'content-type': 'application/json',
          'content-length': body.length,
          expect: '100-continue',
        },
      });
      sent.flushHeaders();
      await once(sent, 'continue');
      return async () => {
        sent.end(body);
        const [answer] = await once(sent, 'response');
        answer.resume();
        return answer.statusCode;
      };
    };
    const leaked = (await keyed.post('/api/v1/keys', { name: 'Leaked', environment: 'test' })).body.data;
    const finishByKey = await begin({ authorization: `Bearer ${leaked.key}` });
    expect((await keyed.delete(`/api/v1/keys/${leaked.id}`)).status).toBe(200);
    expect(await finishByKey()).toBe(401);

    const boss = await personWith(within(organizationId), 'owner');
    const removed = await personWith(within(organizationId), 'admin');
    const finishByPerson = await begin(consoleHeaders(removed.cookie, organizationId));
    const { members } = (await boss.api.get('/api/v1/members')).body.data;
    const { id } = members.find(({ email }: { email: string }) => email === removed.email);
    expect((await boss.api.delete(`/api/v1/members/${id}`)).status).toBe(200);
    expect(await finishByPerson()).toBe(401);
    // Who has it still makes one.
    expect(await (await begin(consoleHeaders(boss.cookie, organizationId)))()).toBe(201);
  });

  test('of another organization are like none', async () => {
    const stranger = await product.createTenant();
    const { body } = await apiClient(base, stranger.testKey).get('/api/v1/keys');
    const foreign = body.data.keys[0].id;
    expect((await owner.api.delete(`/api/v1/keys/${foreign}`)).status).toBe(404);
    expect((await owner.api.post(`/api/v1/keys/${foreign}/rotate`, { overlapSeconds: 0 })).status).toBe(404);
    expect((await apiClient(base, stranger.testKey).get('/api/v1/health')).status).toBe(200);
  });
});

describe('members and invitations', () => {
  test('have names of a bounded length, because lists show a hundred of them', async () => {
    const person = await personWith(within(), 'member');
    const named = (given: object) => person.api.post('/api/auth/update-user', given);
    for (const given of [{ name: 'n'.repeat(201) }, { name: 'n\0' }, { name: 7 }, { image: 'i'.repeat(2_001) }]) {
      expect((await named(given)).status).toBe(400);
    }
    const name = 'n'.repeat(200);
    expect((await named({ name })).status).toBe(200);
    expect((await person.api.get('/api/v1/account')).body.data.user.name).toBe(name);
  });

  test('are written by people alone', async () => {
    const refused = await product.api.post('/api/v1/invitations', { email: newEmail(), role: 'viewer' });
    expect(refused).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', details: { required: 'admin' } } },
    });
    expect((await product.api.get('/api/v1/members')).body.data.members.length).toBeGreaterThanOrEqual(4);
    expect((await product.api.delete(`/api/v1/members/${await idOf(viewer)}`)).status).toBe(403);
  });

  test('an invitation is refused where the plan includes no more mails today', async () => {
    const { organizationId } = await product.createTenant({ plan: 'free' });
    const { api } = await personWith(within(organizationId), 'owner');
    await product.database.pool.query(
      `insert into mail_day (organization_id, environment, day, mails)
       select $1, 'test', (now() at time zone 'UTC')::date + days, 99 from generate_series(0, 1) days`,
      [organizationIds.parse(organizationId)],
    );
    const invite = () => api.post('/api/v1/invitations', { email: newEmail(), role: 'member' });
    expect((await invite()).status).toBe(201);
    const refused = await invite();
    expect([refused.status, refused.body.error.code, refused.body.error.details]).toEqual([
      403,
      'forbidden',
      { limit: 100, plan: 'free' },
    ]);
  });
  test('an invitation is mailed, listed and revoked', async () => {
    const email = newEmail();
    const created = await admin.api.post('/api/v1/invitations', { email, role: 'member' });
    expect(created).toMatchObject({ status: 201, body: { data: { email, role: 'member', status: 'pending' } } });
    const { id } = created.body.data;
    await until('the invitation is mailed', async () => {
      const { rows } = await product.database.pool.query(`select "mailedAt" from auth."invitation" where email = $1`, [
        email,
      ]);
      return rows[0]?.mailedAt ?? undefined;
    });
    expect((await admin.api.delete(`/api/v1/invitations/${id}`)).status).toBe(200);
    const { body } = await admin.api.get('/api/v1/invitations');
    expect(body.data.invitations.find((one: { id: string }) => one.id === id).status).toBe('revoked');
  });

  test('roles cannot be raised: an admin makes, changes and removes no owners', async () => {
    const asOwner = await admin.api.post('/api/v1/invitations', { email: newEmail(), role: 'owner' });
    expect(asOwner).toMatchObject({ status: 403, body: { error: { details: { required: 'owner' } } } });
    for (const person of [admin, owner]) {
      const role = person === admin ? 'owner' : 'viewer';
      const changed = await admin.api.patch(`/api/v1/members/${await idOf(person)}`, { role });
      expect(changed).toMatchObject({ status: 403, body: { error: { details: { required: 'owner' } } } });
    }
    expect((await admin.api.delete(`/api/v1/members/${await idOf(owner)}`)).status).toBe(403);
    expect((await member.api.patch(`/api/v1/members/${await idOf(member)}`, { role: 'admin' })).status).toBe(403);
  });

  test('the last owner stays', async () => {
    const id = await idOf(owner);
    expect((await owner.api.patch(`/api/v1/members/${id}`, { role: 'admin' })).status).toBe(409);
    expect((await owner.api.delete(`/api/v1/members/${id}`)).status).toBe(409);
    const second = await personWith(within(), 'owner');
    const both = await Promise.all([
      owner.api.delete(`/api/v1/members/${await idOf(second)}`),
      second.api.delete(`/api/v1/members/${id}`),
    ]);
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1);
    if (both[1].status === 200) owner = second;
  });

  test('who is removed is signed out everywhere', async () => {
    const person = await personWith(within(), 'member');
    expect((await person.api.get('/api/v1/workflows')).status).toBe(200);
    expect((await owner.api.delete(`/api/v1/members/${await idOf(person)}`)).status).toBe(200);
    expect((await person.api.get('/api/v1/workflows')).status).toBe(401);
    expect((await person.api.get('/api/v1/account')).status).toBe(401);
  });
});

describe('the organization', () => {
  test('is changed, and its slug is unique', async () => {
    const slug = `acme-${Date.now().toString(36)}`;
    const changed = await admin.api.patch('/api/v1/organization', {
      name: 'Acme',
      slug,
      contactEmail: 'a@example.com',
    });
    expect(changed).toMatchObject({
      status: 200,
      body: { data: { name: 'Acme', slug, contactEmail: 'a@example.com' } },
    });
    const other = await product.createTenant();
    const taken = await apiClient(base, other.testKey).patch('/api/v1/organization', { slug });
    expect(taken.status).toBe(409);
    for (const bad of ['test', '-a', 'A', '']) {
      expect((await admin.api.patch('/api/v1/organization', { slug: bad })).status).toBe(400);
    }
  });

  test('has redirect addresses', async () => {
    const url = 'https://app.example.com/back';
    expect((await admin.api.post('/api/v1/redirect-urls', { url })).body.data.redirects).toEqual([url]);
    expect((await admin.api.post('/api/v1/redirect-urls', { url: 'ftp://x' })).status).toBe(400);
    expect((await admin.api.delete(`/api/v1/redirect-urls?url=${encodeURIComponent(url)}`)).status).toBe(200);
    expect((await admin.api.get('/api/v1/redirect-urls')).body.data.redirects).toEqual([]);
  });

  test('has a log of what was done, page by page, and a statement', async () => {
    const first = (await viewer.api.get('/api/v1/audit-log?limit=3')).body.data;
    expect(first.entries).toHaveLength(3);
    expect(first.entries[0].action).toMatch(/^[a-z_]+\.[a-z_]+$/);
    const second = (await viewer.api.get(`/api/v1/audit-log?limit=3&after=${first.nextCursor}`)).body.data;
    expect(Date.parse(second.entries[0].at)).toBeLessThanOrEqual(Date.parse(first.entries[2].at));
    const roles = (await viewer.api.get('/api/v1/audit-log?action=organization.update')).body.data.entries;
    expect(roles[0]).toMatchObject({ actor: { type: 'user', name: admin.email }, target: { type: 'organization' } });
    expect((await viewer.api.get('/api/v1/audit-log?after=x')).status).toBe(400);
    const today = new Date(Date.now() - 3_600_000).toISOString();
    const tomorrow = new Date(Date.now() + 3_600_000).toISOString();
    const all = (await viewer.api.get('/api/v1/audit-log')).body.data;
    expect((await viewer.api.get(`/api/v1/audit-log?from=${today}&to=${tomorrow}`)).body.data).toEqual(all);
    for (const none of [`from=${tomorrow}`, `to=${today}`]) {
      expect((await viewer.api.get(`/api/v1/audit-log?${none}`)).body.data).toEqual({ entries: [], nextCursor: null });
    }

    const from = { 'x-forwarded-for': '203.0.113.77' };
    const asked = await admin.api.patch('/api/v1/organization', { name: 'Acme again' }, from);
    const hook = { name: 'Hook', url: 'https://example.com/', events: ['*'] };
    const made = await admin.api.post('/api/v1/webhooks', hook, from);
    const newest = (await viewer.api.get('/api/v1/audit-log?limit=2')).body.data.entries;
    expect(newest).toMatchObject([
      { action: 'webhook.create', requestId: made.headers.get('x-request-id'), ip: '203.0.113.77' },
      { action: 'organization.update', requestId: asked.headers.get('x-request-id'), ip: '203.0.113.77' },
    ]);
    expect((await product.api.post('/api/studio/generate', { prompt: 'A lighthouse' })).status).toBe(200);
    const newestStep = (await viewer.api.get('/api/v1/credits/entries?limit=1')).body.data;
    const older = (await viewer.api.get(`/api/v1/credits/entries?limit=100&after=${newestStep.nextCursor}`)).body.data;
    expect(newestStep.entries).toHaveLength(1);
    expect(older.entries).not.toContainEqual(newestStep.entries[0]);
    const steps = [...newestStep.entries, ...older.entries].map(({ step }) => step);
    expect(steps).toContain('granted');
    expect((await viewer.api.get('/api/v1/credits/entries?after=e30')).status).toBe(400);
    const { plan, limits } = (await viewer.api.get('/api/v1/limits')).body.data;
    expect(plan).toBe('enterprise');
    expect(limits.length).toBeGreaterThan(10);
  });

  test('has a log of which a page examines 10,000 entries, however few match', async () => {
    const { organizationId, testKey } = await product.createTenant();
    const log = async (query: string) =>
      (await apiClient(base, testKey).get(`/api/v1/audit-log?${query}`)).body.data as {
        entries: { action: string }[];
        nextCursor: string | null;
      };
    const { entries } = await log('');
    await product.database.pool.query(
      `insert into audit_log (organization_id, number, action, subject_id, actor, facts, recorded_at, previous_hash, hash)
       select organization_id, number + n, 'key.expiring', subject_id, 'system', '{}',
              recorded_at + n * interval '1 day', hash, hash
         from (select * from audit_log where organization_id = $1 order by number desc limit 1) newest,
              generate_series(1, 10002) n`,
      [organizationIds.parse(organizationId)],
    );
    const actor = 'actor=operator';
    const none = await log(actor);
    expect(none).toEqual({ entries: [], nextCursor: String(entries.length + 3) });
    expect(await log(`${actor}&after=${none.nextCursor}`)).toEqual({ entries, nextCursor: null });
    // Those of a time are found without looking at those after it, nor at those before.
    const days = (count: number) => new Date(Date.now() + count * 86_400_000).toISOString();
    expect(await log(`${actor}&to=${days(2)}`)).toEqual({ entries, nextCursor: null });
    expect(await log(`${actor}&from=${days(2)}`)).toEqual({ entries: [], nextCursor: String(entries.length + 3) });
    expect(await log(`${actor}&from=${days(20)}`)).toEqual({ entries: [], nextCursor: null });
    expect((await log(`from=${days(1)}&to=${days(4)}`)).entries).toHaveLength(3);
  });

  test('is deleted by an owner who names it: its keys and sessions end, and it can be restored', async () => {
    const { organizationId, testKey } = await product.createTenant();
    const boss = await personWith(within(organizationId), 'owner');
    const second = await personWith(within(organizationId), 'admin');
    const wrong = await boss.api.request('DELETE', '/api/v1/organization', { confirm: 'Another' });
    expect(wrong.status).toBe(400);
    const refused = await second.api.request('DELETE', '/api/v1/organization', { confirm: 'Test' });
    expect(refused).toMatchObject({ status: 403, body: { error: { details: { required: 'owner' } } } });
    const done = await boss.api.request('DELETE', '/api/v1/organization', { confirm: 'Test' });
    expect(done).toMatchObject({ status: 202, body: { data: { id: organizationId } } });
    expect((await apiClient(base, testKey).get('/api/v1/health')).status).toBe(401);
    expect((await boss.api.get('/api/v1/workflows')).status).toBe(404);
    expect((await boss.api.get('/api/v1/account')).body.data.organizations).toEqual([]);
    const { restoreOrganization } = await import('../../src/tenancy/organizations.ts');
    await restoreOrganization(product.database, organizationId);
    expect((await boss.api.get('/api/v1/workflows')).status).toBe(200);
    expect((await apiClient(base, testKey).get('/api/v1/health')).status).toBe(200);
  });
});

test('ten failed passwords are the last ones, whether the account exists or not; links go on', async () => {
  const attempt = (email: string, address: string) =>
    sendForm(`${base}/api/auth/sign-in`, { email, password: 'not the password' }, { 'x-forwarded-for': address });
  const known = member.email;
  const unknown = newEmail();
  for (const [index, email] of [known, unknown].entries()) {
    const statuses = [];
    for (let time = 0; time < 11; time++)
      statuses.push((await attempt(email, `198.51.100.${10 * index + time}`)).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    expect((await attempt(email, '198.51.100.200')).headers.get('retry-after')).toMatch(/^\d+$/);
  }
  expect((await member.api.get('/api/v1/account')).status).toBe(200);
});
