import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { outcomeOf, sceneOf } from '../scheduling/scene.ts';
import { seed } from './seed.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

type Scene = ReturnType<typeof sceneOf>;
type Who = 0 | 1;

/** What is kept in lists, with what makes one of each. None but blackouts closes an hour of the day. */
const kinds = {
  hosts: { key: 'hosts', body: () => ({ name: 'Host' }) },
  'event-types': { key: 'eventTypes', body: () => ({ name: 'Other', duration: 30 }) },
  'recurring-patterns': {
    key: 'recurringPatterns',
    body: () => ({
      name: 'Later',
      pattern: 'DAILY',
      timeStart: '12:00',
      timeEnd: '13:00',
      startDate: '2041-01-01',
    }),
  },
  'blackout-periods': {
    key: 'blackoutPeriods',
    body: (hour: number) => ({ name: 'Closed', allDay: false, start: instant(hour), end: instant(hour + 2) }),
  },
} as const;
type Kind = keyof typeof kinds;
const kindNames = Object.keys(kinds) as Kind[];

const day = '2040-06-13';
const instant = (hour: number) => new Date(Date.parse(`${day}T00:00:00Z`) + hour * 3_600_000).toISOString();
const hours = Array.from({ length: 24 }, (_, hour) => hour);

interface Booked {
  id: string;
  hour: number;
  isCancelled: boolean;
  moves: number;
}

/** What a tenant has: an event type of an hour on a host that is open around the clock, and what was made since. */
interface Expected {
  eventTypeId: string;
  bookings: Booked[];
  made: Record<Kind, { id: string; hour: number }[]>;
}
type Model = [Expected, Expected];
type Real = [Scene, Scene];

const isClosed = ({ made }: Expected, hour: number) =>
  made['blackout-periods'].some((one) => hour < one.hour + 2 && hour + 1 > one.hour);
const takenBy = ({ bookings }: Expected, hour: number) => bookings.find((one) => one.hour === hour && !one.isCancelled);

/** How a request for an hour is answered. @param own a booking that is being moved */
function outcome(expected: Expected, hour: number, own?: Booked): { status: number; code?: string } {
  if (isClosed(expected, hour)) return { status: 422, code: 'blackout_period' };
  const taken = takenBy(expected, hour);
  return taken && taken !== own ? { status: 409, code: 'slot_unavailable' } : { status: own ? 200 : 201 };
}

async function newTenant(): Promise<[Expected, Scene]> {
  const { id } = await createOrganization(product.database, { name: 'M', plan: 'enterprise', rateMinute: 1_000_000 });
  const { key } = await createKey(product.database, { organizationId: id, environment: 'test' });
  const scene = sceneOf(apiClient(product.process.api, key));
  const { host, id: eventTypeId } = await scene.offer();
  const made = Object.fromEntries(kindNames.map((kind) => [kind, [] as { id: string; hour: number }[]]));
  const expected = { eventTypeId, bookings: [], made: made as Expected['made'] };
  expected.made.hosts.push({ id: host, hour: 0 });
  expected.made['event-types'].push({ id: eventTypeId, hour: 0 });
  return [expected, scene];
}

const ids = (of: readonly { id: string }[]) => of.map(({ id }) => id).toSorted();

/** After every step each tenant sees exactly what is its own, and is offered exactly the hours that it could book. */
async function compare(model: Model, real: Real): Promise<void> {
  for (const who of [0, 1] as const) {
    const [expected, scene] = [model[who], real[who]];
    for (const kind of kindNames) {
      const listed: { id: string; isDefault?: boolean }[] = (await scene.get(kind))[kinds[kind].key];
      expect(ids(listed.filter(({ isDefault }) => !isDefault))).toEqual(ids(expected.made[kind]));
    }
    const { bookings } = await scene.get('bookings?limit=100');
    const seen = bookings.map(({ id, start, status, rescheduleCount: moves }: Record<string, unknown>) => ({
      id,
      hour: new Date(String(start)).getUTCHours(),
      isCancelled: status === 'cancelled',
      moves,
    }));
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
    expect(seen.toSorted(byId)).toEqual(expected.bookings.toSorted(byId));
    const free = hours.filter((hour) => outcome(expected, hour).status === 201);
    expect((await scene.open(expected.eventTypeId, day)).map((start) => new Date(start).getUTCHours())).toEqual(free);
  }
}

const step = (label: string, run: (model: Model, real: Real) => Promise<void>): fc.AsyncCommand<Model, Real> => ({
  check: () => true,
  async run(model, real) {
    await run(model, real);
    await compare(model, real);
  },
  toString: () => label,
});
const pick = <T>(of: readonly T[], index: number): T | undefined => of[index % Math.max(1, of.length)];
const answered = (answer: Parameters<typeof outcomeOf>[0]) => {
  const { status, code } = outcomeOf(answer);
  return code === undefined ? { status } : { status, code };
};

const book = (who: Who, hour: number) =>
  step(`book(${who}, ${hour})`, async (model, real) => {
    const answer = await real[who].book(model[who].eventTypeId, instant(hour));
    expect(answered(answer)).toEqual(outcome(model[who], hour));
    if (answer.status !== 201) return;
    model[who].bookings.push({ id: answer.body.data.id, hour, isCancelled: false, moves: 0 });
  });

const move = (who: Who, index: number, hour: number) =>
  step(`move(${who}, ${index}, ${hour})`, async (model, real) => {
    const booking = pick(model[who].bookings, index);
    if (!booking) return;
    const path = `bookings/${booking.id}/reschedule`;
    const answer = await real[who].request('PATCH', path, { newStart: instant(hour) });
    if (booking.isCancelled) return expect(answered(answer)).toEqual({ status: 400, code: 'validation_error' });
    const isSame = booking.hour === hour;
    expect(answered(answer)).toEqual(isSame ? { status: 200 } : outcome(model[who], hour, booking));
    if (answer.status === 200 && !isSame) Object.assign(booking, { hour, moves: booking.moves + 1 });
  });

const cancel = (who: Who, index: number) =>
  step(`cancel(${who}, ${index})`, async (model, real) => {
    const booking = pick(model[who].bookings, index);
    if (!booking) return;
    expect((await real[who].request('DELETE', `bookings/${booking.id}`)).status).toBe(200);
    booking.isCancelled = true;
  });

const make = (who: Who, kind: Kind, hour: number) =>
  step(`make(${who}, ${kind}, ${hour})`, async (model, real) => {
    const { id } = await real[who].make(kind, kinds[kind].body(hour));
    model[who].made[kind].push({ id, hour });
  });

const remove = (who: Who, kind: Kind, index: number) =>
  step(`remove(${who}, ${kind}, ${index})`, async (model, real) => {
    const { eventTypeId, made } = model[who];
    const target = pick(made[kind], index);
    // Those that the bookings are of stay.
    if (!target || target.id === eventTypeId || target === made.hosts[0]) return;
    expect((await real[who].request('DELETE', `${kind}/${target.id}`)).status).toBe(200);
    made[kind].splice(made[kind].indexOf(target), 1);
  });

/** Everything that names something of the other tenant's. */
const trespass = (who: Who, index: number) =>
  step(`trespass(${who}, ${index})`, async (model, real) => {
    const other = model[who === 0 ? 1 : 0];
    const { request, book: bookAs } = real[who];
    const expectMissing = async (asked: ReturnType<typeof request>) => expect((await asked).status).toBe(404);
    await expectMissing(bookAs(other.eventTypeId, instant(0)));
    await expectMissing(request('GET', `availability?eventTypeId=${other.eventTypeId}&start=${day}&end=${day}`));
    await expectMissing(request('GET', `rate-limits/check?eventTypeId=${other.eventTypeId}&date=${day}`));
    expect((await real[who].get(`bookings?eventTypeId=${other.eventTypeId}`)).bookings).toEqual([]);
    const week = { timezone: 'UTC', weeklyHours: {}, hostId: other.made.hosts[0]!.id };
    await expectMissing(request('PUT', 'availability/rules', week));
    await expectMissing(request('POST', 'event-types', { name: 'x', duration: 5, hostId: other.made.hosts[0]!.id }));
    for (const kind of kindNames) {
      const target = pick(other.made[kind], index);
      if (!target) continue;
      await expectMissing(request('DELETE', `${kind}/${target.id}`));
      if (kind === 'hosts' || kind === 'event-types') {
        await expectMissing(request('PATCH', `${kind}/${target.id}`, { name: 'stolen' }));
      } else await expectMissing(request('GET', `${kind}/${target.id}`));
      if (kind === 'recurring-patterns') await expectMissing(request('POST', `${kind}/${target.id}/generate`));
    }
    const booking = pick(other.bookings, index);
    if (!booking) return;
    await expectMissing(request('GET', `bookings/${booking.id}`));
    await expectMissing(request('PATCH', `bookings/${booking.id}/reschedule`, { newStart: instant(1) }));
    await expectMissing(request('DELETE', `bookings/${booking.id}`));
  });

test('two tenants who do anything to their calendars see what they did, are offered what they can book, and see nothing of each other', async () => {
  const who = fc.constantFrom<Who>(0, 1);
  // Few enough that requests meet.
  const hour = fc.nat(5);
  const index = fc.nat(9);
  const kind = fc.constantFrom(...kindNames);
  const commands = fc.commands(
    [
      fc.tuple(who, hour).map(([one, at]) => book(one, at)),
      fc.tuple(who, hour).map(([one, at]) => book(one, at)),
      fc.tuple(who, index, hour).map(([one, of, at]) => move(one, of, at)),
      fc.tuple(who, index).map(([one, of]) => cancel(one, of)),
      fc.tuple(who, kind, hour).map(([one, of, at]) => make(one, of, at)),
      fc.tuple(who, kind, index).map(([one, of, at]) => remove(one, of, at)),
      fc.tuple(who, index).map(([one, of]) => trespass(one, of)),
    ],
    { maxCommands: 30, size: '+1' },
  );
  await fc.assert(
    fc.asyncProperty(commands, async (chosen) => {
      const [[ours, one], [theirs, other]] = [await newTenant(), await newTenant()];
      await fc.asyncModelRun(() => ({ model: [ours, theirs] as Model, real: [one, other] as Real }), chosen);
    }),
    { numRuns: 3, seed },
  );
});
