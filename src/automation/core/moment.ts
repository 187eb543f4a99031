import { DateTime } from 'luxon';

/** RFC 3339 with an offset. */
const form = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * Reads a time with an offset, as in `2026-12-01T09:00:00Z`.
 * @returns undefined where there is no such time; `Date` would take February 30 for March 1
 */
export function readMoment(text: string): Date | undefined {
  if (!form.test(text.trim())) return undefined;
  const time = DateTime.fromISO(text.trim().toUpperCase().replace(' ', 'T'));
  return time.isValid ? time.toJSDate() : undefined;
}
