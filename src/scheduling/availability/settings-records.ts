import {
  type BusinessHours,
  type DayHours,
  defaultWeeklyHours,
  type HoursException,
  type Weekday,
  weekdays,
} from '../core/rules.ts';

/** As the API shows a week: Monday first. */
const weekFromMonday: readonly Weekday[] = [...weekdays.slice(1), weekdays[0]!];

/** All seven days, closed ones as null. */
export type Week = Record<Weekday, DayHours>;

export const weekOf = (hours: { readonly [day in Weekday]?: DayHours | undefined }): Week =>
  Object.fromEntries(weekFromMonday.map((day) => [day, hours[day] ?? null])) as Week;

export const defaultWeek = weekOf(defaultWeeklyHours);

interface NamedException extends HoursException {
  name?: string | undefined;
  /** UUID. Absent: all hosts. */
  hostId?: string | undefined;
}

/** Business hours as they are stored and shown: exceptions can have names. */
export interface StoredBusinessHours extends Omit<BusinessHours, 'default' | 'exceptions'> {
  default: Week | null;
  exceptions: readonly NamedException[];
}

/** Business hours as they hold for a host: on a date that has an exception of its own, that of all hosts does not count. */
export function hoursOfHost<Hours extends Pick<StoredBusinessHours, 'exceptions'>>(
  hours: Hours,
  hostId: string,
): Hours {
  const own = new Set(hours.exceptions.flatMap((one) => (one.hostId === hostId ? [one.date] : [])));
  const holds = (one: NamedException) => (one.hostId === undefined ? !own.has(one.date) : one.hostId === hostId);
  return { ...hours, exceptions: hours.exceptions.filter(holds) };
}
