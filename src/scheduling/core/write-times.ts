import { dayMs, hourMs, minuteMs, writeDay } from './calendar-date.ts';
import type { Interval } from './intervals.ts';
import type { Slot } from './slots.ts';
import { ZoneClock } from './zone-clock.ts';

const twoDigits = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'));
const minutesOfDay = Array.from(
  { length: 24 * 60 },
  (_, minute) => `T${twoDigits[Math.floor(minute / 60)]}:${twoDigits[minute % 60]}:00.000`,
);

function writeOffset(offset: number): string {
  const size = Math.abs(offset);
  const [hours, minutes] = [Math.floor(size / hourMs), Math.floor((size % hourMs) / minuteMs)];
  return `${offset < 0 ? '-' : '+'}${twoDigits[hours]}:${twoDigits[minutes]}`;
}

/**
 * Writes moments of a stretch of time as RFC 3339 with the offset of a zone, UTC as Z. Many of one day cost hardly more than
 * putting texts together.
 */
export class TimeWriter {
  readonly #clock: ZoneClock;
  readonly #offsets = new Map<number, string>();
  #day = Number.NaN;
  #date = '';

  constructor(timezone: string, within: Interval) {
    this.#clock = new ZoneClock(timezone, within);
  }

  write(at: number): string {
    const offset = this.#clock.offsetAt(at);
    // Offsets with seconds, which a few zones had until 1972, cannot be written.
    if (at % minuteMs !== 0 || offset % minuteMs !== 0) return new Date(at).toISOString();
    const wall = at + offset;
    const day = Math.floor(wall / dayMs);
    if (day !== this.#day) {
      this.#day = day;
      this.#date = writeDay(day);
    }
    return this.#date + minutesOfDay[(wall - day * dayMs) / minuteMs]! + this.#textOf(offset);
  }

  #textOf(offset: number): string {
    if (this.#clock.isUtc) return 'Z';
    let text = this.#offsets.get(offset);
    if (text === undefined) {
      text = writeOffset(offset);
      this.#offsets.set(offset, text);
    }
    return text;
  }
}

/** The published form of slots in the order of `listSlots`, in the zone of the caller. */
export function writeSlots(
  slots: readonly Slot[],
  timezone: string,
): { start: string; end: string; available: boolean }[] {
  if (slots.length === 0) return [];
  const writer = new TimeWriter(timezone, { startsAt: slots[0]!.startsAt, endsAt: slots.at(-1)!.endsAt });
  return slots.map(({ startsAt, endsAt, available }) => ({
    start: writer.write(startsAt),
    end: writer.write(endsAt),
    available,
  }));
}
