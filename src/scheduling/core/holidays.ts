// Loading this file loads the library's data, about 40 MB: import it where holidays are in use, and only then.
import Holidays from 'date-holidays';
import { type DayNumber, dayMs, partsOf, readDay } from './calendar-date.ts';
import type { DayRange } from './read-times.ts';
import { Recent } from './recent.ts';

/**
 * Years before and after the present one with known holidays. Laws do not define holidays further away, and each year
 * of a code costs milliseconds: with this bound all of them together cost a process less than a minute, once.
 */
const yearsBefore = 10;
const yearsAfter = 40;

const known = new Recent<string, readonly DayNumber[]>(32_000);
const codes = new Map<string, { country: string; state?: string }>();

function codesByName(): ReadonlyMap<string, { country: string; state?: string }> {
  if (codes.size > 0) return codes;
  const library = new Holidays();
  for (const country of Object.keys(library.getCountries())) {
    codes.set(country, { country });
    for (const state of Object.keys(library.getStates(country) ?? {})) {
      codes.set(`${country}-${state}`.toUpperCase(), { country, state });
    }
  }
  return codes;
}

/** ISO 3166 alpha-2, optionally with a subdivision, as in `DE` and `de-by`. */
export const isHolidayCode = (code: string): boolean => codesByName().has(code.toUpperCase());

/** Days that begin in a year. A day that is free only from noon on counts as a whole. */
function holidaysOf(
  code: string,
  year: number,
  pause: () => Promise<void>,
): Promise<readonly DayNumber[]> | readonly DayNumber[] {
  const key = `${code} ${year}`;
  const found = known.peek(key);
  return found ?? pause().then(() => known.get(key, () => computeHolidays(code, year)));
}

function computeHolidays(code: string, year: number): readonly DayNumber[] {
  const { country, state } = codesByName().get(code) ?? {};
  if (!country) throw new RangeError(`Not a code of holidays: ${code}`);
  const options = { types: ['public' as const] };
  const library = state ? new Holidays(country, state, options) : new Holidays(country, options);
  return library.getHolidays(year).flatMap(({ date, start, end, type }) => {
    const day = readDay(date.slice(0, 10));
    if (type !== 'public' || day === undefined) return [];
    const days = Math.max(1, Math.round((end.getTime() - start.getTime()) / dayMs));
    return Array.from({ length: days }, (_, index) => day + index);
  });
}

/**
 * The public holidays of these codes on these days, substitute days included. Each year of a code is computed once.
 * @param now the present year decides which years are known: ten before it, forty after it
 * @param pause awaited before each costly computation, so that others can go on
 */
export async function publicHolidays(
  codeList: readonly string[],
  ranges: readonly DayRange[],
  now: number,
  pause: () => Promise<void>,
): Promise<Set<DayNumber>> {
  const thisYear = partsOf(Math.floor(now / dayMs)).year;
  const years = new Set<number>();
  // A holiday may have begun some days before.
  for (const { from, to } of ranges) {
    const last = Math.min(partsOf(to).year, thisYear + yearsAfter);
    for (let year = Math.max(partsOf(from - 10).year, thisYear - yearsBefore); year <= last; year++) years.add(year);
  }
  const days = new Set<DayNumber>();
  for (const code of new Set(codeList.map((one) => one.toUpperCase()))) {
    for (const year of years) for (const day of await holidaysOf(code, year, pause)) days.add(day);
  }
  return days;
}
