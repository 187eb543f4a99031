/**
 * The canonical name of a time zone of the tz database, links included; undefined for unknown zones and for offsets such as
 * `+02:00`.
 */
export function findTimezone(name: string): string | undefined {
  if (!/^[a-z]/i.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
