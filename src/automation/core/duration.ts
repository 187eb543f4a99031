// One grammar of durations for everything that waits: a number of seconds, ISO 8601, or `2d3h`.
const seconds = { w: 604_800, d: 86_400, h: 3_600, m: 60, s: 1 } as const;

const iso =
  /^P(?=.)(?:(\d{1,12})W)?(?:(\d{1,12})D)?(?:T(?=.)(?:(\d{1,12})H)?(?:(\d{1,12})M)?(?:(\d{1,12}(?:\.\d{1,3})?)S)?)?$/i;
const short = /^(?=.)(?:(\d{1,12})w)?(?:(\d{1,12})d)?(?:(\d{1,12})h)?(?:(\d{1,12})m)?(?:(\d{1,12})s)?$/;
const plain = /^\d{1,12}(?:\.\d{1,3})?$/;

const units = [seconds.w, seconds.d, seconds.h, seconds.m, seconds.s];

/** What `readDuration` reads, in words for its author. */
export const durationForms = 'a number of seconds, an ISO 8601 duration such as "PT36H", or a form such as "2d3h"';

/**
 * Reads a duration. Numbers are seconds with at most three decimals, and so are texts that consist of a number, which
 * templates give. Years and months are not known: they have no fixed length.
 * @returns milliseconds, or undefined for anything else
 */
export function readDuration(value: number | string): number | undefined {
  if (typeof value === 'number') {
    const ms = Math.round(value * 1_000);
    return Number.isFinite(value) && value >= 0 && Math.abs(ms - value * 1_000) < 1e-3 ? ms : undefined;
  }
  const text = value.trim();
  if (plain.test(text)) return Math.round(Number(text) * 1_000);
  const parts = iso.exec(text) ?? short.exec(text);
  if (!parts) return undefined;
  return Math.round(units.reduce((sum, unit, index) => sum + unit * Number(parts[index + 1] ?? 0), 0) * 1_000);
}
