import { z } from 'zod';
import { isJsonObject } from '../../platform/core/json-shapes.ts';
import { isLargerThan } from '../../platform/core/json-size.ts';
import { isOneLine } from '../../platform/core/one-line.ts';
import { findTimezone } from '../../platform/core/timezone.ts';
import { type FieldError, invalid } from '../../platform/errors.ts';
import { readInstant } from '../core/read-times.ts';
import type { BookedLocation, OfferedLocation, Question } from '../entities.ts';
import type { Attendee } from './booking-view.ts';

const maxAttachedBytes = 16 * 1024;

/** An object of the caller's own. */
export const isAttachable = (value: unknown): boolean =>
  !isLargerThan(value, maxAttachedBytes) && Buffer.byteLength(JSON.stringify(value)) <= maxAttachedBytes;

const line = (maximum: number) =>
  z
    .string()
    .refine((text) => [...text].length <= maximum, `Expected at most ${maximum} characters.`)
    .refine(isOneLine, 'Expected no control characters.');
const filledLine = (maximum: number) =>
  line(maximum).refine((text) => text.trim() !== '', 'Expected at least one character that is not a space.');
const attached = z
  .custom<Record<string, unknown>>(isJsonObject, 'Expected an object.')
  .refine(isAttachable, 'Expected at most 16 KiB as JSON.')
  .optional();

/** The body of a new booking, as steps of workflows take it for their payload. The endpoint's schema has the same rules. */
export const bookingBody = z.object({
  eventTypeId: z.string(),
  start: z
    .string()
    .refine(
      (text) => readInstant(text) !== undefined,
      'Expected a time in whole minutes with its offset, such as 2026-11-21T09:30:00Z.',
    ),
  attendee: z.object({
    name: filledLine(200),
    email: z.email('Expected an e-mail address.').max(254),
    phone: line(40).optional(),
    timezone: z
      .string()
      .refine(
        (name) => name.length <= 64 && findTimezone(name) !== undefined,
        'Expected a zone of the tz database, such as Europe/Berlin.',
      )
      .optional(),
  }),
  responses: attached,
  metadata: attached,
  location: z.object({ type: z.string().min(1).max(40) }).optional(),
});

type BookingBody = z.output<typeof bookingBody>;

/** A body, with its defaults filled in. */
export function readBooking({ attendee, responses = {}, metadata = {}, location, ...given }: BookingBody): NewBooking {
  const { phone = null, timezone = 'UTC', ...named } = attendee;
  return { ...given, attendee: { ...named, phone, timezone }, responses, metadata, location: location?.type };
}

export interface NewBooking {
  eventTypeId: string;
  /** RFC 3339, in whole minutes. */
  start: string;
  attendee: Attendee;
  responses: Record<string, unknown>;
  metadata: Record<string, unknown>;
  /** The type of one of the event type's locations. */
  location: string | undefined;
}

/** The address of a location that a link can point to; null where it has none. */
function urlOf({ url, number }: OfferedLocation): string | null {
  if (url !== undefined && url !== '') return url;
  const digits = number?.replaceAll(/[^\d+*#,;]/g, '') ?? '';
  return digits === '' ? null : `tel:${digits}`;
}

/**
 * The requested location, else the first offered one, else none.
 * @throws AppError validation_error with path location.type for one that is not offered
 */
export function chooseLocation(offered: readonly OfferedLocation[], type: string | undefined): BookedLocation | null {
  const chosen = type === undefined ? offered[0] : offered.find((one) => one.type === type);
  if (type !== undefined && !chosen) {
    const types = offered.map((one) => one.type).join(', ');
    const message = types === '' ? 'The event type offers no locations.' : `Expected one of ${types}.`;
    throw invalid([{ path: 'location.type', message }]);
  }
  return chosen ? { type: chosen.type, url: urlOf(chosen) } : null;
}

const isGiven = (value: unknown): boolean =>
  typeof value === 'string' ? value.trim() !== '' : Array.isArray(value) ? value.length > 0 : value != null;

const emailSchema = z.email().max(254);
/** Digits, with what people write between them. */
const phonePattern = /^[\d+(][\d\s().,;*#/-]*$/;
const numberPattern = /^[+-]?\d+(\.\d+)?$/;
const maxPhoneLength = 40;
const maxNumberLength = 40;

const isPhone = (text: string) =>
  text.length <= maxPhoneLength && phonePattern.test(text) && text.replaceAll(/\D/g, '').length >= 3;

/** Forms send numbers as texts. */
const isNumber = (answer: unknown) =>
  typeof answer === 'number' ||
  (typeof answer === 'string' && answer.length <= maxNumberLength && numberPattern.test(answer.trim()));

/** The problem of a given answer; undefined for an answer of the question's type. */
function problemOf({ type, options = [] }: Question, answer: unknown): string | undefined {
  if (type === 'checkbox') return typeof answer === 'boolean' ? undefined : 'Expected true or false.';
  if (type === 'number') return isNumber(answer) ? undefined : 'Expected a number.';
  if (typeof answer !== 'string') return 'Expected a text.';
  if (type === 'email') return emailSchema.safeParse(answer).success ? undefined : 'Expected an e-mail address.';
  if (type === 'phone') return isPhone(answer) ? undefined : 'Expected a telephone number.';
  if (type === 'select') return options.includes(answer) ? undefined : `Expected one of ${options.join(', ')}.`;
  return undefined;
}

/**
 * Checks answers against the types of their questions. What answers no question is kept as it is.
 * @throws AppError validation_error with a path responses.<label> for each answer that is missing or of another type
 */
export function checkResponses(questions: readonly Question[], responses: Record<string, unknown>): void {
  const problems = questions.flatMap((question): FieldError[] => {
    const { label, type, required } = question;
    const path = `responses.${label}`;
    const answer = Object.hasOwn(responses, label) ? responses[label] : undefined;
    if (isGiven(answer)) {
      const message = problemOf(question, answer);
      if (message !== undefined) return [{ path, message }];
    }
    if (!required) return [];
    if (type === 'checkbox') return answer === true ? [] : [{ path, message: 'Expected true.' }];
    return isGiven(answer) ? [] : [{ path, message: 'Required.' }];
  });
  if (problems.length > 0) throw invalid(problems);
}
