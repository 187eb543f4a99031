import { dayMs, hourMs, minuteMs } from './calendar-date.ts';
import { Decider, type Facts } from './decide.ts';
import type { Interval } from './intervals.ts';
import { momentsOf, type SlotQuery } from './reads.ts';
import { ZoneClock } from './zone-clock.ts';

export interface Slot {
  startsAt: number;
  endsAt: number;
  available: boolean;
}

/** Times of the grid after which other work can run: about a millisecond of work. */
const pageSize = 1_000;
/** From this length on, the grid begins anew at every midnight of the host. */
const aroundTheClock = 24 * hourMs;
/** Before and after the requested days: a run that reaches further is around the clock in any case. */
const lookAroundMs = 2 * dayMs;

/** The stretches of time in each of which the grid begins at the start. */
function* gridPieces({ openings }: Decider): Generator<Interval> {
  const { hours, host } = openings;
  for (const { startsAt, endsAt } of hours) {
    let from = startsAt;
    if (endsAt - startsAt >= aroundTheClock) {
      for (let day = host.dayAt(startsAt) + 1; ; day++) {
        const midnight = host.startOfDay(day);
        if (midnight >= endsAt) break;
        if (midnight > from) yield { startsAt: from, endsAt: midnight };
        from = Math.max(from, midnight);
      }
    }
    yield { startsAt: from, endsAt };
  }
}

/**
 * The slots of an event type that start on the requested days, in order, in pages, some of which may be empty so that
 * other work can run in between. Closed slots and whole days before today are left out; slots that cannot be booked for
 * another reason are not available.
 */
export function* walkSlots(facts: Facts, query: SlotQuery): Generator<Slot[]> {
  if (!facts.eventType.isActive) return;
  const { now } = facts;
  const today = new ZoneClock(query.timezone, { startsAt: now, endsAt: now }).dayAt(now);
  const range = { from: Math.max(query.range.from, today), to: query.range.to };
  if (range.from > range.to) return;
  const { startsAt, endsAt } = momentsOf({ ...query, range });
  const decider = new Decider(facts, { startsAt: startsAt - lookAroundMs, endsAt: endsAt + lookAroundMs });
  const step = facts.eventType.duration * minuteMs;
  let page: Slot[] = [];
  let looked = 0;
  for (const piece of gridPieces(decider)) {
    const skipped = Math.max(0, Math.ceil((startsAt - piece.startsAt) / step));
    const last = Math.min(piece.endsAt - step, endsAt - 1);
    for (let at = piece.startsAt + skipped * step; at <= last; at += step) {
      const available = decider.offers(at, at + step);
      if (available !== undefined) page.push({ startsAt: at, endsAt: at + step, available });
      if (++looked % pageSize > 0) continue;
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}

/** All slots at once: at most 132,480, of a type that lasts a minute on 92 days. */
export const listSlots = (facts: Facts, query: SlotQuery): Slot[] => [...walkSlots(facts, query)].flat();
