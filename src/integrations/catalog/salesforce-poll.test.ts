import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ConnectedAccount, connectAccount } from '../../../test/fakes/connected-account.ts';
import { type FakeSalesforce, salesforceError, startFakeSalesforce } from '../../../test/fakes/salesforce.ts';
import { salesforce } from './salesforce.ts';
import { salesforcePollBy } from './salesforce-poll.ts';

const day = 86_400_000;

let fake: FakeSalesforce;
let connected: ConnectedAccount;

beforeAll(async () => {
  fake = await startFakeSalesforce();
  const settings = { SALESFORCE_LOGIN_BASE_URL: fake.origin };
  connected = await connectAccount(salesforce, fake, settings, { prefix: 'SALESFORCE' });
});
beforeEach(() => {
  fake.reset();
  fake.records.clear();
  fake.unreadable.clear();
  fake.perPage = 2_000;
});
afterAll(async () => {
  await connected.close();
  await fake.close();
});

/** Salesforce's clock is years behind ours: only its own times may count. */
const theirs = Date.UTC(2020, 0, 1);

/** A poller that keeps every event that it received. */
async function poller(startsAt: string | null = null) {
  let now = Date.UTC(2026, 10, 20);
  const { poll } = salesforcePollBy(() => now);
  const events: { trigger: string; key: string; data: unknown }[] = [];
  let cursor = startsAt;
  const self = {
    events,
    cursor: () => cursor!,
    /** One round: until there is no more. @returns how many calls that took */
    async round(afterMs = 60_000): Promise<number> {
      now += afterMs;
      let calls = 0;
      for (let more = true; more; calls += 1) {
        const found: Awaited<ReturnType<typeof poll>> = await poll(cursor, connected.call);
        expect(found.events.length).toBeLessThanOrEqual(400);
        expect(found.cursor.length).toBeLessThan(40_000);
        ({ cursor, more } = found);
        events.push(...found.events);
      }
      return calls;
    },
    ids: (trigger: string) => events.filter((event) => event.trigger === trigger).map(({ key }) => key.split(':')[1]),
  };
  await self.round(0);
  return self;
}

test('earlier records are not published, and later ones are published once', async () => {
  fake.save('Contact', { LastName: 'Before' }, theirs);
  fake.save('Opportunity', { StageName: 'Before' }, theirs);
  const polled = await poller();
  expect(polled.events).toEqual([]);
  await polled.round();
  // In the same second as the ones that were there.
  const contact = fake.save('Contact', { LastName: 'Lovelace' }, theirs);
  const deal = fake.save('Opportunity', { StageName: 'Closed Won' }, theirs + 5_000);
  for (let round = 0; round < 10; round += 1) await polled.round();
  expect(polled.events).toEqual([
    {
      trigger: 'contact_created',
      key: `contact_created:${contact.Id}`,
      data: { contactId: contact.Id, occurredAt: '2020-01-01T00:00:00.000Z' },
    },
    {
      trigger: 'deal_updated',
      key: expect.stringContaining(`deal_updated:${deal.Id}:2020-01-01T00:00:05.000Z:`),
      data: { dealId: deal.Id, property: 'StageName', value: 'Closed Won', occurredAt: '2020-01-01T00:00:05.000Z' },
    },
  ]);
  for (const { trigger, data } of polled.events) salesforce.triggers[trigger]!.data.parse(data);
});

test('a deal that is saved twice within a second is published with both of its stages', async () => {
  const polled = await poller();
  const deal = fake.save('Opportunity', { StageName: 'Negotiation' }, theirs);
  await polled.round();
  deal.StageName = 'Closed Won';
  await polled.round();
  await polled.round();
  const values = polled.events.map(({ data }) => (data as { value: string }).value);
  expect(values).toEqual(['Negotiation', 'Closed Won']);
});

test('an organization without records is polled from its first one on', async () => {
  const polled = await poller();
  await polled.round();
  const { Id } = fake.save('Contact', {}, theirs);
  await polled.round();
  await polled.round();
  expect(polled.ids('contact_created')).toEqual([Id]);
});

test('a thousand records of one second are published once each, page by page', async () => {
  const polled = await poller();
  const saved = Array.from({ length: 1_000 }, () => fake.save('Contact', {}, theirs).Id);
  const deals = Array.from({ length: 200 }, () => fake.save('Opportunity', {}, theirs).Id);
  expect(await polled.round()).toBe(6);
  expect(polled.ids('contact_created')).toEqual(saved);
  expect(polled.ids('deal_updated')).toEqual(deals);
  // A record that is read again in the overlap has the same key, by which the publisher recognizes it.
  for (let round = 0; round < 5; round += 1) await polled.round();
  expect(new Set(polled.events.map(({ key }) => key)).size).toBe(1_200);
  const count = polled.events.length;
  for (let round = 0; round < 5; round += 1) await polled.round(day);
  expect(polled.events).toHaveLength(count);
});

test('an answer with fewer records than were asked for is not the last one', async () => {
  fake.perPage = 50;
  const polled = await poller();
  const saved = Array.from({ length: 120 }, () => fake.save('Contact', {}, theirs).Id);
  expect(await polled.round()).toBe(3);
  expect(polled.ids('contact_created')).toEqual(saved);
});

test('a round that loses access to its object is read again', async () => {
  const polled = await poller();
  const saved = Array.from({ length: 300 }, () => fake.save('Contact', {}, theirs).Id);
  fake.next({ after: 0 }, { after: 0 }, { fail: salesforceError(400, 'INVALID_TYPE') });
  await polled.round();
  fake.next({ fail: salesforceError(400, 'INVALID_TYPE') });
  await polled.round(day);
  await polled.round();
  expect(new Set(polled.ids('contact_created'))).toEqual(new Set(saved));
});

test('a transaction that commits late is published, although newer records were published before', async () => {
  const polled = await poller();
  const first = fake.save('Contact', {}, theirs + 120_000);
  await polled.round();
  const late = fake.save('Contact', {}, theirs + 10_000);
  await polled.round();
  const again = fake.save('Contact', {}, theirs + 130_000);
  await polled.round();
  expect(polled.ids('contact_created')).toEqual([first.Id, late.Id, again.Id]);
});

test('a record that commits during a long round is published by the next one', async () => {
  const polled = await poller();
  for (let n = 0; n < 400; n += 1) fake.save('Contact', {}, theirs + n * 1_000);
  // The first page is read, up to 199 s; then one commits that was saved at 150 s, and much later ones do.
  const reading = polled.round();
  while (fake.journal.filter(({ query }) => query.get('q')?.includes('Contact')).length < 3) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const late = fake.save('Contact', {}, theirs + 150_000).Id;
  await reading;
  await polled.round();
  expect(polled.ids('contact_created')).toContain(late);
});

test('a poll that failed is done again from where it was, and an object without access is left out', async () => {
  const polled = await poller();
  const contact = fake.save('Contact', {}, theirs);
  fake.next({ fail: salesforceError(500, 'UNKNOWN_EXCEPTION') });
  await expect(polled.round()).rejects.toMatchObject({ kind: 'lost' });
  fake.next({ after: 0 }, { fail: salesforceError(400, 'INVALID_TYPE') });
  await polled.round();
  expect(polled.ids('contact_created')).toEqual([contact.Id]);
});

test('an object that becomes readable later begins then: its records are no events, and each later one is', async () => {
  fake.unreadable.add('Opportunity');
  fake.save('Opportunity', { StageName: 'Before' }, theirs);
  const polled = await poller();
  fake.save('Opportunity', { StageName: 'Still unreadable' }, theirs + 1_000);
  const contact = fake.save('Contact', {}, theirs);
  await polled.round();
  // Connected again by a user who can read it: the connection of the account keeps its cursor.
  fake.unreadable.clear();
  const reconnected = await poller(polled.cursor());
  await reconnected.round();
  // In the same second as the newest one that was there.
  const deal = fake.save('Opportunity', { StageName: 'Closed Won' }, theirs + 1_000);
  await reconnected.round();
  fake.unreadable.add('Opportunity');
  const unread = fake.save('Opportunity', { StageName: 'Lost' }, theirs + 2_000);
  for (let round = 0; round < 3; round += 1) await reconnected.round(day);
  fake.unreadable.clear();
  for (let round = 0; round < 3; round += 1) await reconnected.round(day);
  expect(polled.ids('contact_created')).toEqual([contact.Id]);
  expect([...polled.ids('deal_updated'), ...reconnected.ids('deal_updated')]).toEqual([deal.Id, unread.Id]);
});

test('an object that was empty when its access ended is published from its first record on', async () => {
  const polled = await poller();
  fake.unreadable.add('Opportunity');
  const { Id } = fake.save('Opportunity', {}, theirs);
  await polled.round();
  fake.unreadable.clear();
  await polled.round();
  expect(polled.ids('deal_updated')).toEqual([Id]);
});

test('a cursor of an earlier version, which does not tell an empty object from an unreadable one, is understood', async () => {
  const epoch = '1970-01-01T00:00:00.000Z';
  const place = { after: epoch, newest: epoch, seenMs: 0, from: epoch, published: [] };
  fake.unreadable.add('Opportunity');
  fake.save('Opportunity', {}, theirs);
  const contact = fake.save('Contact', {}, theirs);
  const polled = await poller(JSON.stringify({ Contact: place, Opportunity: place }));
  fake.unreadable.clear();
  await polled.round();
  await polled.round();
  expect(polled.ids('contact_created')).toEqual([contact.Id]);
  expect(polled.ids('deal_updated')).toEqual([]);
});

test('ids and times that could say something in SOQL are refused', async () => {
  const polled = await poller();
  const right = { Id: '003x00000000001AAA', CreatedDate: '2020-01-01T00:00:00.000+0000' };
  const wrong = [{ Id: "003' OR Id != '" }, { CreatedDate: "2020' OR" }, { CreatedDate: 7 }, { Id: undefined }];
  for (const members of wrong) {
    fake.next({ fail: { status: 200, body: { records: [{ ...right, ...members }] } } });
    await expect(polled.round()).rejects.toMatchObject({ kind: 'lost' });
  }
  fake.next({ fail: { status: 200, body: { records: [right] } } });
  await polled.round();
  expect(polled.ids('contact_created')).toEqual([right.Id]);
});
