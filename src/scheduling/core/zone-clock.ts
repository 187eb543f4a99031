import { IANAZone } from 'luxon';
import { findTimezone } from '../../platform/core/timezone.ts';
import { type DayNumber, dayMs, minuteMs } from './calendar-date.ts';
import { type Interval, Spans } from './intervals.ts';
import { Recent } from './recent.ts';

/**
 * Two changes of a zone's offset are never closer than 6.9 days (tz database 2026, from 1970 on), so two that cancel each
 * other out are never missed between two looks.
 */
const lookMs = 4 * dayMs;
const chunkMs = 16 * lookMs;
/** Changes of offset happen on whole seconds. */
const secondMs = 1_000;

interface Change {
  at: number;
  /** From then on: wall clock less UTC, in milliseconds. */
  offset: number;
}

// Both are bounded, and their keys are finite or short: a tenant may name its zone in many ways.
const canonicalNames = new Recent<string, string>(1_000);
const chunks = new Recent<string, readonly Change[]>(4_000);

/** @throws RangeError for a name that `findTimezone` refuses: zones are checked before they are kept. */
function canonicalName(timezone: string): string {
  return canonicalNames.get(timezone, () => {
    const found = findTimezone(timezone);
    if (found === undefined) throw new RangeError(`Not a time zone: ${timezone}`);
    return found;
  });
}

/** The offset at the start of a chunk of time, and its changes within. */
function changesIn(zone: IANAZone, chunk: number): readonly Change[] {
  return chunks.get(`${zone.name} ${chunk}`, () => {
    const offset = (at: number) => Math.round(zone.offset(at) * minuteMs);
    const from = chunk * chunkMs;
    const changes: Change[] = [{ at: from, offset: offset(from) }];
    for (let look = from + lookMs; look <= from + chunkMs; look += lookMs) {
      const before = changes.at(-1)!.offset;
      const after = offset(look);
      if (after === before) continue;
      let [low, high] = [look - lookMs, look];
      while (high - low > secondMs) {
        const middle = low + Math.floor((high - low) / 2 / secondMs) * secondMs;
        if (offset(middle) === before) low = middle;
        else high = middle;
      }
      changes.push({ at: high, offset: after });
    }
    return changes;
  });
}

/**
 * The clocks of a zone during a stretch of time; only moments within it can be asked for. "Wall" is the time that
 * clocks show, as milliseconds since 1970-01-01T00:00 on the clock.
 */
export class ZoneClock {
  readonly isUtc: boolean;
  /** The offset `offsets[i]` holds from `starts[i]` on. The first one starts before all. */
  readonly #starts: number[] = [];
  readonly #offsets: number[] = [];

  constructor(timezone: string, { startsAt, endsAt }: Interval) {
    const name = canonicalName(timezone);
    this.isUtc = name === 'UTC';
    const zone = IANAZone.create(name);
    const last = this.isUtc ? Math.floor(startsAt / chunkMs) : Math.floor(endsAt / chunkMs);
    for (let chunk = Math.floor(startsAt / chunkMs); chunk <= last; chunk++) {
      for (const { at, offset } of changesIn(zone, chunk)) {
        if (offset === this.#offsets.at(-1)) continue;
        this.#starts.push(this.#starts.length === 0 ? -Infinity : at);
        this.#offsets.push(offset);
      }
    }
  }

  #endOf(index: number): number {
    return this.#starts[index + 1] ?? Infinity;
  }

  offsetAt(at: number): number {
    let index = this.#starts.length - 1;
    while (this.#starts[index]! > at) index--;
    return this.#offsets[index]!;
  }

  wallAt(at: number): number {
    return at + this.offsetAt(at);
  }

  dayAt(at: number): DayNumber {
    return Math.floor(this.wallAt(at) / dayMs);
  }

  /** The moments at which the clocks show a time of these, in either pass of an hour that comes twice. */
  showing(wall: Spans): Spans {
    const found: Interval[] = [];
    for (const [index, offset] of this.#offsets.entries()) {
      const within = Spans.of([{ startsAt: this.#starts[index]! + offset, endsAt: this.#endOf(index) + offset }]);
      for (const { startsAt, endsAt } of wall.intersect(within)) {
        found.push({ startsAt: startsAt - offset, endsAt: endsAt - offset });
      }
    }
    return Spans.of(found);
  }

  /** The moment at which the clocks show this time: the earlier of two; of a missing time, as long after the gap began. */
  momentOf(wall: number): number {
    let afterGap = Infinity;
    for (const [index, offset] of this.#offsets.entries()) {
      const at = wall - offset;
      if (at < this.#starts[index]!) return afterGap;
      if (at < this.#endOf(index)) return at;
      afterGap = at;
    }
    return afterGap;
  }

  /** The first moment of a day: 01:00 where midnight is skipped, and of a day that is skipped as a whole that of the next. */
  startOfDay(day: DayNumber): number {
    for (const [index, offset] of this.#offsets.entries()) {
      const at = Math.max(this.#starts[index]!, day * dayMs - offset);
      if (at < this.#endOf(index)) return at;
    }
    throw new RangeError('A clock without an end has every day.');
  }
}
