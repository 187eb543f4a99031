import { Blackouts } from './blackouts.ts';
import { type DayNumber, dayMs, dayNumber, minuteMs, weekdayOf, writeDay } from './calendar-date.ts';
import { type Interval, Spans } from './intervals.ts';
import { patternIntervals } from './patterns.ts';
import { type DayRange, endOfTime, readHours } from './read-times.ts';
import { type CalendarRules, type DayHours, defaultWeeklyHours, type WeeklyHours, weekdays } from './rules.ts';
import { ZoneClock } from './zone-clock.ts';

/** Beyond the window: no two clocks differ by more, and a requested day is read as a whole. */
const marginMs = 2 * dayMs;

function wallRanges(hours: DayHours | undefined): Interval[] {
  return (hours ?? []).map((text) => {
    const range = readHours(text);
    if (!range) throw new RangeError(`Not a range of hours: ${text}`);
    return { startsAt: range.from * minuteMs, endsAt: range.to * minuteMs };
  });
}

const onDay = (day: DayNumber, ranges: Iterable<Interval>): Interval[] =>
  [...ranges].map(({ startsAt, endsAt }) => ({ startsAt: day * dayMs + startsAt, endsAt: day * dayMs + endsAt }));

/** The hours of a week on the wall, repeated over these days. */
function weekOnWall(week: WeeklyHours, { from, to }: DayRange): Spans {
  const byWeekday = weekdays.map((day) => Spans.of(wallRanges(week[day])));
  const all: Interval[] = [];
  for (let day = from; day <= to; day++) all.push(...onDay(day, byWeekday[weekdayOf(day)]!));
  return Spans.of(all);
}

const daysIn = (clock: ZoneClock, { startsAt, endsAt }: Interval): DayRange => ({
  from: clock.dayAt(startsAt) - 1,
  to: clock.dayAt(endsAt) + 1,
});

/** When a host is open within a window, and why not. */
export class Openings {
  readonly host: ZoneClock;
  /** Weekly hours, opening patterns, business hours, exceptions and holidays: the anchors of the grid of slots. */
  readonly hours: Spans;
  /** The same without the patterns that close. */
  readonly open: Spans;
  readonly blackouts: Spans;
  readonly #business: ZoneClock;
  readonly #exceptionDays: ReadonlySet<DayNumber>;
  readonly #holidays: ReadonlySet<DayNumber>;

  /** @param holidays days that are public holidays somewhere in the window, for the codes in the business hours */
  constructor(rules: CalendarRules, holidays: ReadonlySet<DayNumber>, window: Interval) {
    const { timezone, businessHours } = rules;
    const around = { startsAt: window.startsAt - marginMs, endsAt: window.endsAt + marginMs };
    this.host = new ZoneClock(timezone, around);
    const isSameZone = !businessHours?.timezone || businessHours.timezone === timezone;
    this.#business = isSameZone ? this.host : new ZoneClock(businessHours.timezone!, around);
    this.#holidays = holidays;

    const days = daysIn(this.host, window);
    const patterns = (opens: boolean) =>
      Spans.of(
        rules.patterns
          .filter(({ blockType }) => (blockType === 'available') === opens)
          .flatMap((pattern) => [...patternIntervals(pattern, days, this.host)]),
      );
    const weekly = this.host.showing(weekOnWall(rules.weeklyHours ?? defaultWeeklyHours, days)).union(patterns(true));
    const { hours, exceptionDays } = this.#withBusinessHours(weekly, rules, window);
    this.#exceptionDays = exceptionDays;
    const within = { startsAt: window.startsAt, endsAt: Math.min(window.endsAt, endOfTime) };
    this.hours = hours.intersect(Spans.of([within]));
    this.open = this.hours.subtract(patterns(false));
    this.blackouts = new Blackouts(rules.blackouts, timezone).within(window, this.host);
  }

  #withBusinessHours(weekly: Spans, { businessHours }: CalendarRules, window: Interval) {
    const exceptionDays = new Set<DayNumber>();
    const days = daysIn(this.#business, window);
    const [first, last] = [writeDay(days.from), writeDay(days.to)];
    const replaced: Interval[] = [];
    const opened: Interval[] = [];
    for (let day = days.from; day <= days.to; day++) {
      if (this.#holidays.has(day)) replaced.push({ startsAt: day * dayMs, endsAt: (day + 1) * dayMs });
    }
    for (const { date, hours } of businessHours?.exceptions ?? []) {
      if (date < first || date > last) continue;
      const day = dayNumber(date);
      exceptionDays.add(day);
      replaced.push({ startsAt: day * dayMs, endsAt: (day + 1) * dayMs });
      opened.push(...onDay(day, wallRanges(hours)));
    }
    const regular = businessHours?.default
      ? weekly.intersect(this.#business.showing(weekOnWall(businessHours.default, days)))
      : weekly;
    const hours = regular
      .subtract(this.#business.showing(Spans.of(replaced)))
      .union(this.#business.showing(Spans.of(opened)));
    return { hours, exceptionDays };
  }

  /** Why a moment that is not open is closed. */
  reasonAt(at: number): 'closed' | 'exception' | 'holiday' | 'pattern' {
    if (this.hours.contains(at, at + 1)) return 'pattern';
    const day = this.#business.dayAt(at);
    if (this.#exceptionDays.has(day)) return 'exception';
    return this.#holidays.has(day) ? 'holiday' : 'closed';
  }
}
