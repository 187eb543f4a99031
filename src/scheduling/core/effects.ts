import { minuteMs } from './calendar-date.ts';
import type { EffectStatus } from './effect-status.ts';

/** What follows from a change of a booking, as callers see it. */
export const effectTypes = ['attendee_mail', 'contact_mail', 'calendar_entry', 'meeting_link', 'reminder'] as const;
export type EffectType = (typeof effectTypes)[number];

/** A booking has several reminders: their kinds are `reminder_<minutes before the start>`. */
export type EffectKind = Exclude<EffectType, 'reminder'> | `reminder_${number}`;

export const typeOf = (kind: EffectKind): EffectType =>
  kind.startsWith('reminder_') ? 'reminder' : (kind as EffectType);

/** Minutes before the start, of event types that set none. */
export const defaultReminders: readonly number[] = [1_440, 60];
export const maxReminders = 5;

/** Locations whose address the calendar of the host creates. */
const madeLocations = ['google_meet', 'microsoft_teams'];

/** Whether a calendar is to make the link of a booking's location. */
export const wantsLink = (
  location: { type: string; url: string | null } | null,
  offered: readonly { type: string; autoCreate?: boolean | undefined }[],
): boolean =>
  location !== null &&
  location.url === null &&
  madeLocations.includes(location.type) &&
  offered.some(({ type, autoCreate }) => type === location.type && autoCreate === true);

/** How often a booking was changed: moves, and its cancellation. Mails carry it as SEQUENCE. */
export const versionOf = ({ rescheduleCount, status }: { rescheduleCount: number; status: string }): number =>
  rescheduleCount + (status === 'cancelled' ? 1 : 0);

/** The text of a mail about the change that caused it. Times are ISO 8601 in UTC. */
export interface ChangeFacts {
  occasion: 'confirmed' | 'moved' | 'cancelled';
  start: string;
  end: string;
  previousStart: string | null;
  reason: string | null;
}

/** An effect that is to be done. */
export interface PlannedEffect {
  kind: EffectKind;
  dueAt: Date;
  /** The facts of a mail; null for all other effects. */
  facts: ChangeFacts | null;
}

export interface Change {
  now: Date;
  /** The status of the booking after the change. */
  status: 'confirmed' | 'cancelled';
  facts: ChangeFacts;
  notifyAttendee: boolean;
  wantsLink: boolean;
  /** Minutes before the start. */
  reminders: readonly number[];
  /** 1; less in tests, for earlier reminders. */
  timeScale: number;
}

/**
 * The effects of a change, in the order in which they are listed. A reminder that would have been due by now is left out.
 * Spec: scheduling 6.
 */
export function planEffects({ now, status, facts, ...change }: Change): PlannedEffect[] {
  const mail = (kind: EffectKind): PlannedEffect => ({ kind, dueAt: now, facts });
  const isOn = status === 'confirmed';
  const work = (kind: EffectKind): PlannedEffect => ({ kind, dueAt: now, facts: null });
  const reminders = [...new Set(change.reminders)]
    .sort((a, b) => b - a)
    .map((minutes) => ({ minutes, ms: Date.parse(facts.start) - minutes * minuteMs - now.getTime() }))
    .filter(({ ms }) => isOn && ms > 0)
    .map(({ minutes, ms }): PlannedEffect => {
      return { kind: `reminder_${minutes}`, dueAt: new Date(now.getTime() + ms * change.timeScale), facts };
    });
  return [
    ...(change.notifyAttendee ? [mail('attendee_mail')] : []),
    mail('contact_mail'),
    work('calendar_entry'),
    ...(isOn && change.wantsLink ? [work('meeting_link')] : []),
    ...reminders,
  ];
}

/** An effect that is not over. */
export interface OpenEffect {
  kind: EffectKind;
  version: number;
  status: EffectStatus;
  attempts: number;
  dueAt: Date;
  createdAt: Date;
  /** When its mail began to be handed over, and no result is known. */
  handedOverAt: Date | null;
}

/** The next step of an effect. `unconfirmed`: it is not known whether its mail arrived. */
export type Verdict = 'wait' | 'perform' | 'skip' | 'give_up' | 'unconfirmed';

const hourMs = 3_600_000;

/** Until when an effect is tried: the start, and for an hour in any case. A reminder is of no use after the start. */
export const giveUpAt = ({ kind, createdAt }: Pick<OpenEffect, 'kind' | 'createdAt'>, start: Date): Date =>
  typeOf(kind) === 'reminder' ? start : new Date(Math.max(start.getTime(), createdAt.getTime() + hourMs));

const isMailOfChange = (kind: EffectKind) => kind === 'attendee_mail' || kind === 'contact_mail';

/**
 * Decides about an effect. Every change has its mail, but the mail of the next change supersedes a failed one.
 * Calendars and reminders follow only the latest change.
 * @param booking as it is now
 */
export function judge(effect: OpenEffect, booking: { version: number; start: Date }, now: Date): Verdict {
  const { kind, attempts } = effect;
  if (effect.handedOverAt) return 'unconfirmed';
  // An attempt that a crash cut short is no failure.
  const isOvertaken = effect.status === 'retrying' || !isMailOfChange(kind);
  if (effect.version < booking.version && isOvertaken) return 'skip';
  const isFirst = attempts === 0 && typeOf(kind) !== 'reminder';
  if (!isFirst && now >= giveUpAt(effect, booking.start)) return 'give_up';
  return effect.dueAt > now ? 'wait' : 'perform';
}

/** Durations in milliseconds. */
export interface EffectRetries {
  firstMs: number;
  maxMs: number;
}

/** 5 seconds, doubled with each attempt, up to an hour. A permanent refusal is tried again each hour. */
export const effectRetries: EffectRetries = { firstMs: 5_000, maxMs: hourMs };

/** @param attempts made so far */
export const retryDelayMs = (attempts: number, isPermanent: boolean, { firstMs, maxMs }: EffectRetries): number =>
  isPermanent ? maxMs : Math.min(maxMs, firstMs * 2 ** Math.min(attempts - 1, 30));
