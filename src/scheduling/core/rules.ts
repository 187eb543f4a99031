/** Index = day of the week as in patterns and occurrences: 0 is Sunday. */
export const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;
export type Weekday = (typeof weekdays)[number];

/** Ranges `HH:MM-HH:MM` as sent; they may overlap. Null or no ranges: closed. */
export type DayHours = string[] | null;
/** A weekday that is left out is closed. */
export type WeeklyHours = { readonly [day in Weekday]?: DayHours };

const nineToFive: DayHours = ['09:00-17:00'];
/** The hours of a host without hours of its own. */
export const defaultWeeklyHours: WeeklyHours = {
  monday: nineToFive,
  tuesday: nineToFive,
  wednesday: nineToFive,
  thursday: nineToFive,
  friday: nineToFive,
};

/** With hours it opens its date whatever weekly hours, business hours and holidays say; otherwise it closes it. */
export interface HoursException {
  /** YYYY-MM-DD, in the zone of the business hours. */
  date: string;
  hours: DayHours;
}

export interface BusinessHours {
  /** Null: the host's. */
  timezone: string | null;
  /** Null: no restriction. */
  default: WeeklyHours | null;
  exceptions: readonly HoursException[];
  /** Codes that `isHolidayCode` accepts. */
  holidays: readonly string[];
}

export interface BlackoutPeriod {
  /** All day: a date of the host, YYYY-MM-DD, both ends included. Otherwise an instant, RFC 3339; the end is not included. */
  start: string;
  end: string;
  allDay: boolean;
  /** Every year from its own on, by the host's date and wall clock. */
  recurring: boolean;
}

export const patternKinds = ['DAILY', 'WEEKLY', 'BI_WEEKLY', 'MONTHLY', 'MONTHLY_NTH', 'QUARTERLY', 'YEARLY'] as const;
export type PatternKind = (typeof patternKinds)[number];

/** Times and dates are the host's. */
export interface RecurringPattern {
  pattern: PatternKind;
  interval: number;
  /** 0 is Sunday. Null or empty: the weekday of startDate. */
  daysOfWeek: readonly number[] | null;
  /** HH:MM */
  timeStart: string;
  timeEnd: string;
  /** YYYY-MM-DD */
  startDate: string;
  /** Included. Null: for ever. */
  endDate: string | null;
  /** `available` opens; every other word closes. */
  blockType: string;
}

/** Null: no limit. */
export interface BookingLimits {
  dailyMax: number | null;
  weeklyMax: number | null;
  monthlyMax: number | null;
  consecutiveMax: number | null;
  minGapMinutes: number | null;
}

export const noLimits: BookingLimits = {
  dailyMax: null,
  weeklyMax: null,
  monthlyMax: null,
  consecutiveMax: null,
  minGapMinutes: null,
};

const stricter = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);

/** Limits that hold together. */
export const bothLimits = (one: BookingLimits, other: BookingLimits): BookingLimits => ({
  dailyMax: stricter(one.dailyMax, other.dailyMax),
  weeklyMax: stricter(one.weeklyMax, other.weeklyMax),
  monthlyMax: stricter(one.monthlyMax, other.monthlyMax),
  consecutiveMax: stricter(one.consecutiveMax, other.consecutiveMax),
  minGapMinutes:
    one.minGapMinutes === null && other.minGapMinutes === null
      ? null
      : Math.max(one.minGapMinutes ?? 0, other.minGapMinutes ?? 0),
});

/** The rules of an event type. For a reschedule, duration and buffers are those of the existing booking. */
export interface EventTypeRules {
  /** Minutes. */
  duration: number;
  bufferBefore: number;
  bufferAfter: number;
  /** Hours. */
  minNotice: number;
  /** Days; null: no limit. */
  maxAdvance: number | null;
  isActive: boolean;
}

/** The settings of a host and the organization. Zones are names that `findTimezone` accepts. */
export interface CalendarRules {
  /** The host's zone. */
  timezone: string;
  /** Null: never set, which is `defaultWeeklyHours`. */
  weeklyHours: WeeklyHours | null;
  businessHours: BusinessHours | null;
  blackouts: readonly BlackoutPeriod[];
  patterns: readonly RecurringPattern[];
  limits: BookingLimits;
}
