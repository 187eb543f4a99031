/** Days since 1970-01-01: dates without zone and time, for arithmetic. */
export type DayNumber = number;

export const minuteMs = 60_000;
export const hourMs = 3_600_000;
export const dayMs = 86_400_000;

export const firstYear = 1970;
export const lastYear = 9999;

const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

/** @param month 1 to 12 */
const daysIn = (year: number, month: number): number => (month === 2 && isLeap(year) ? 29 : lengths[month - 1]!);

export interface DateParts {
  year: number;
  /** 1 to 12 */
  month: number;
  /** 1 to 31 */
  day: number;
}

/** @param month 1 to 12, or beyond for months of other years */
export const dayOf = ({ year, month, day }: DateParts): DayNumber => Date.UTC(year, month - 1, day) / dayMs;

/** The same with a day that the month does not have moved to its end. */
export function clampedDayOf({ year, month, day }: DateParts): DayNumber {
  return dayOf({ year, month, day: Math.min(day, daysIn(year, month)) });
}

export function partsOf(day: DayNumber): DateParts {
  const date = new Date(day * dayMs);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

/** 0 is Sunday. */
export const weekdayOf = (day: DayNumber): number => (((day + 4) % 7) + 7) % 7;

/** The Monday of its week. */
export const mondayOf = (day: DayNumber): DayNumber => day - ((weekdayOf(day) + 6) % 7);

/** YYYY-MM-DD */
export const writeDay = (day: DayNumber): string => new Date(day * dayMs).toISOString().slice(0, 10);

/** The year of the Thursday of a week and its number: YYYY-Www. */
export function writeWeek(day: DayNumber): string {
  const thursday = mondayOf(day) + 3;
  const { year } = partsOf(thursday);
  const week = Math.floor((thursday - dayOf({ year, month: 1, day: 1 })) / 7) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}

/** YYYY-MM */
export const writeMonth = (day: DayNumber): string => writeDay(day).slice(0, 7);

/** The day of a date YYYY-MM-DD that exists, in the years 1970 to 9999; otherwise undefined. */
export function readDay(text: string): DayNumber | undefined {
  const found = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (!found) return undefined;
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])];
  if (year < firstYear || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  return dayOf({ year, month, day });
}

/** @throws RangeError for what `readDay` does not know: dates are checked before they are kept. */
export function dayNumber(text: string): DayNumber {
  const day = readDay(text);
  if (day === undefined) throw new RangeError(`Not a date: ${text}`);
  return day;
}
