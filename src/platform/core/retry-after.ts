const imfDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** A header with many digits exceeds every timer and every duration of Temporal. */
const maxWaitMs = 24 * 3_600_000;

/**
 * Reads a Retry-After header: seconds or a date (RFC 9110, 10.2.3). Fractions of a second are accepted too, because model
 * providers send them.
 * @param now ms since the epoch
 * @returns whole ms from now, at most a day; undefined when the header is missing, malformed or names a time that has passed
 */
export function readRetryAfter(header: string | null | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const wait = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : imfDate.test(text) ? Date.parse(text) - now : 0;
  return wait > 0 ? Math.min(Math.ceil(wait), maxWaitMs) : undefined;
}
