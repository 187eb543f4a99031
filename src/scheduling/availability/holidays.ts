import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { invalid } from '../../platform/errors.ts';
import type { DayNumber } from '../core/calendar-date.ts';
import type { DayRange } from '../core/read-times.ts';
import type { CalendarRules } from '../core/rules.ts';

// The library has much data: it is loaded when holidays are first in use.
const load = () => import('../core/holidays.ts');

const none: ReadonlySet<DayNumber> = new Set();

/** The public holidays of the business hours near these days. */
export async function holidaysNear(
  { businessHours }: Pick<CalendarRules, 'businessHours'>,
  ranges: readonly DayRange[],
  now: number,
): Promise<ReadonlySet<DayNumber>> {
  const codes = businessHours?.holidays ?? [];
  if (codes.length === 0) return none;
  return (await load()).publicHolidays(codes, ranges, now, yieldToEventLoop);
}

/** @throws AppError validation_error with a path holidays.<i> for each code that is unknown */
export async function checkHolidayCodes(codes: readonly string[]): Promise<void> {
  if (codes.length === 0) return;
  const { isHolidayCode } = await load();
  const message = 'Expected the code of a country or of one of its regions, such as DE or DE-BY.';
  const problems = codes.flatMap((code, index) =>
    isHolidayCode(code) ? [] : [{ path: `holidays.${index}`, message }],
  );
  if (problems.length > 0) throw invalid(problems);
}
