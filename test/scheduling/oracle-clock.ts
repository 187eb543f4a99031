/** What the clocks of a zone show, by Intl alone: see slot-oracle.ts. Moments and what is shown are in milliseconds. */

const minute = 60_000;
const quarter = 15 * minute;
const day = 86_400_000;

const formats = new Map<string, Intl.DateTimeFormat>();
const offsets = new Map<string, Map<number, number>>();

/** Clocks change at quarters of an hour in the years of the tests, so one look at each is enough. */
export function offsetAt(zone: string, at: number): number {
  let known = offsets.get(zone);
  if (!known) {
    known = new Map();
    offsets.set(zone, known);
  }
  const quarterHour = Math.floor(at / quarter);
  let offset = known.get(quarterHour);
  if (offset === undefined) {
    offset = lookAt(zone, quarterHour * quarter);
    known.set(quarterHour, offset);
  }
  return offset;
}

function lookAt(zone: string, at: number): number {
  let format = formats.get(zone);
  if (!format) {
    const numeric = 'numeric';
    format = new Intl.DateTimeFormat('en', {
      timeZone: zone,
      hourCycle: 'h23',
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    });
    formats.set(zone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(parts.year!, parts.month! - 1, parts.day!, parts.hour!, parts.minute!, parts.second!) - at;
}

export const wallAt = (zone: string, at: number) => at + offsetAt(zone, at);
/** Days since 1970-01-01. */
export const dateAt = (zone: string, at: number) => Math.floor(wallAt(zone, at) / day);
/** The first minute that shows this time; of a skipped time, as long after the gap began as it is after its start. */
export function momentOf(zone: string, wall: number): number {
  for (let at = wall - 15 * 60 * minute; ; at += minute) {
    const shown = wallAt(zone, at);
    if (shown === wall) return at;
    const before = wallAt(zone, at - minute);
    if (before < wall && wall < shown) return at + wall - before - minute;
  }
}
