import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { walkAvailability } from '../availability/availability.ts';
import type { Bookable } from '../availability/calendar-rules.ts';
import { type DayNumber, readDay, writeDay } from '../core/calendar-date.ts';
import { ZoneClock } from '../core/zone-clock.ts';

export interface PageWeek {
  /** The first days, `YYYY-MM-DD`, of the neighbouring weeks that may have times; undefined if there is none. */
  before: string | undefined;
  after: string | undefined;
  /** Free times of the booking's length. */
  choices: { start: Date; end: Date }[];
}

/** What the clocks of a zone show is a day off at most. */
const dayAt = (at: number, timezone: string): DayNumber =>
  new ZoneClock(timezone, { startsAt: at, endsAt: at }).dayAt(at);

const week = 7;
/** Maximum per page: a reader needs no more. */
const maxChoices = 1_000;
const lastDay = readDay('9999-12-01')!;

/** The days of a page. */
interface WantedWeek {
  /** The first day; that of `near` where it is none. */
  date: string | undefined;
  /** Now, where it is undefined. */
  near: Date | undefined;
  timezone: string;
}

/**
 * A week of free times of an event type, in a zone. No week begins before today.
 * @param except the booking that is to be moved: its own time is no choice
 */
export async function findWeek(
  scope: Scope,
  bookable: Bookable,
  { date, near, timezone }: WantedWeek,
  except?: { id: string; startAt: Date },
): Promise<PageWeek> {
  const now = clock.now();
  const today = dayAt(now, timezone);
  const wanted = (date === undefined ? undefined : readDay(date)) ?? dayAt(near?.getTime() ?? now, timezone);
  const from = Math.min(Math.max(wanted, today), lastDay);
  const query = { range: { from, to: from + week - 1 }, timezone };
  const own = except?.startAt.getTime();
  const choices: PageWeek['choices'] = [];
  for await (const page of walkAvailability(scope, bookable, query, { now, except: except?.id ?? null })) {
    const free = page.filter(({ available, startsAt }) => available && startsAt !== own);
    choices.push(...free.map(({ startsAt, endsAt }) => ({ start: new Date(startsAt), end: new Date(endsAt) })));
    if (choices.length >= maxChoices) break;
  }
  return {
    before: from > today ? writeDay(Math.max(today, from - week)) : undefined,
    after: from + week <= lastDay ? writeDay(from + week) : undefined,
    choices: choices.slice(0, maxChoices),
  };
}
