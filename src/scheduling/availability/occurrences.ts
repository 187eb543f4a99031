import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { dayNumber } from '../core/calendar-date.ts';
import { holidayDaysForOccurrences, type Occurrence, occurrenceDays, walkOccurrences } from '../core/occurrences.ts';
import { defaultHost } from '../hosts.ts';
import { listBlackouts } from './blackouts.ts';
import { holidaysNear } from './holidays.ts';
import { getPattern } from './patterns.ts';
import { findSettings } from './settings.ts';
import { hoursOfHost } from './settings-records.ts';

/** Occurrences centuries apart, among many blackouts, cost up to a millisecond each. */
const perRound = 10;

/**
 * The occurrences of a pattern from a date on, at the clock of the default host.
 * @param id in either form. @throws AppError not_found
 */
export async function generateOccurrences(
  scope: Scope,
  id: string,
  { count, fromDate }: { count: number; fromDate: string | undefined },
): Promise<Occurrence[]> {
  const pattern = await getPattern(scope, id);
  const { id: hostId, timezone } = await defaultHost(scope);
  const businessHours = hoursOfHost((await findSettings(scope)).businessHours, hostId);
  const all = await listBlackouts(scope);
  const blackouts = all.filter((one) => one.hostId === null || one.hostId === hostId);
  const days = occurrenceDays(pattern, count, dayNumber(fromDate ?? pattern.startDate));
  const holidays = await holidaysNear({ businessHours }, holidayDaysForOccurrences(days), clock.now());
  const rules = { timezone, businessHours, blackouts };
  const occurrences: Occurrence[] = [];
  for (const one of walkOccurrences(rules, pattern, days, holidays)) {
    occurrences.push(one);
    if (occurrences.length % perRound === 0) await yieldToEventLoop();
  }
  return occurrences;
}
