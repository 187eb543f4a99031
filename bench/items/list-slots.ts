import { minuteMs } from '../../src/scheduling/core/calendar-date.ts';
import type { Facts } from '../../src/scheduling/core/decide.ts';
import { blockOf } from '../../src/scheduling/core/occupied.ts';
import { readDayRange, readInstant } from '../../src/scheduling/core/read-times.ts';
import { weekdays } from '../../src/scheduling/core/rules.ts';
import { listSlots } from '../../src/scheduling/core/slots.ts';
import { writeSlots } from '../../src/scheduling/core/write-times.ts';
import { CpuMeter } from '../cpu-meter.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { timeAlone } from '../load.ts';

const timezone = 'America/New_York';
/** Sixty days around the change of clocks on March 11. */
const [first, last] = ['2040-02-10', '2040-04-09'];
const duration = 15;
const booked = 1_000;
const naive = 'naive loop';
const sorted = 'sorted loop';

type WrittenSlot = ReturnType<typeof writeSlots>[number];

/** A host with hours from 8 to 18 every day, with every limit set and none of them reached. */
function situation(): { list(occupied?: Facts['occupied']): ReturnType<typeof listSlots>; starts: number[] } {
  const found = readDayRange(first, last);
  if ('problems' in found) throw new Error('The days of the bench are wrong.');
  const facts: Facts = {
    now: readInstant('2040-01-01T00:00Z')!,
    rules: {
      timezone,
      weeklyHours: Object.fromEntries(weekdays.map((day) => [day, ['08:00-18:00']])),
      businessHours: null,
      blackouts: [],
      patterns: [],
      limits: { dailyMax: 100, weeklyMax: 500, monthlyMax: 2_000, consecutiveMax: 100, minGapMinutes: 0 },
    },
    eventType: { duration, bufferBefore: 0, bufferAfter: 0, minNotice: 1, maxAdvance: 365, isActive: true },
    occupied: { bookings: [], counted: [], busy: [] },
    holidays: new Set(),
  };
  const list = (occupied = facts.occupied) => listSlots({ ...facts, occupied }, { range: found.range, timezone });
  return { list, starts: list().map(({ startsAt }) => startsAt) };
}

/** Every n-th one, in an order in which a table may return them. */
function spread(starts: number[]): number[] {
  const step = starts.length / booked;
  const chosen = Array.from({ length: booked }, (_, index) => starts[Math.floor(index * step)]!);
  return chosen.map((_, index) => chosen[(index * 617) % booked]!);
}

/** What one would write without zones, rules and limits, for starts that are known: each slot against each booking. */
function compareAll(starts: number[], bookings: Facts['occupied']['bookings']): WrittenSlot[] {
  return starts.map((startsAt) => {
    const endsAt = startsAt + duration * minuteMs;
    const isTaken = bookings.some((one) => one.startsAt < endsAt && one.endsAt > startsAt);
    return { start: new Date(startsAt).toISOString(), end: new Date(endsAt).toISOString(), available: !isTaken };
  });
}

/** The same with the bookings sorted and a pointer into them. */
function compareNext(starts: number[], bookings: Facts['occupied']['bookings']): WrittenSlot[] {
  const inOrder = [...bookings].sort((a, b) => a.startsAt - b.startsAt);
  let next = 0;
  return starts.map((startsAt) => {
    const endsAt = startsAt + duration * minuteMs;
    while (next < inOrder.length && inOrder[next]!.endsAt <= startsAt) next++;
    const isTaken = next < inOrder.length && inOrder[next]!.startsAt < endsAt;
    return { start: new Date(startsAt).toISOString(), end: new Date(endsAt).toISOString(), available: !isTaken };
  });
}

function requireSame(one: WrittenSlot[], other: WrittenSlot[]): void {
  const textOf = (slots: WrittenSlot[]) =>
    slots.map(({ start, available }) => `${Date.parse(start)} ${available}`).join();
  if (textOf(one) !== textOf(other)) throw new Error('The sides of the bench do not list the same slots.');
}

/** P14: the cost of the slots of two months besides the bookings that are read for them; the part without database. */
export const listSlotsItem: Item = {
  name: 'P14',
  title: `60 days of slots of ${duration} minutes in ${timezone} with 1,000 bookings, in memory`,
  needs: 'nothing',
  async run() {
    const { list, starts } = situation();
    const startsOfBookings = spread(starts);
    const bookings = startsOfBookings.map((startsAt) => {
      const endsAt = startsAt + duration * minuteMs;
      return blockOf({ startsAt, endsAt, holdStartsAt: startsAt, holdEndsAt: endsAt });
    });
    const counted = startsOfBookings.map((at) => ({ at, count: 1 }));
    const product = () => writeSlots(list({ bookings, counted, busy: [] }), timezone);
    requireSame(product(), compareAll(starts, bookings));
    requireSame(product(), compareNext(starts, bookings));
    const side = (name: string, work: () => unknown): Side => {
      const round = () => timeAlone(async () => work(), { count: 40 });
      return { name, warmUp: round, round };
    };
    const measured = await interleave(new CpuMeter(), 7, [
      side(naive, () => compareAll(starts, bookings)),
      side(sorted, () => compareNext(starts, bookings)),
      side('product', product),
    ]);
    const finding = compare('ms', `${starts.length} slots`, measured, { [naive]: { atMost: 1.2 } });
    const values = measured.series.at(-1)!.values;
    return [{ ...finding, verdicts: [...finding.verdicts, { name: 'product, ms', values, aim: { atMost: 2 } }] }];
  },
};
