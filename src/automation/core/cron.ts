import { type CronExpression, CronExpressionParser } from 'cron-parser';

/** Temporal shows the expression to operators in a comment, which may not be longer. */
export const maxCronLength = 200;

const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

// The parser also reads seconds, L, #, ? and H, which crontab(5) and Temporal do not know.
const fields = /^(?:[\d*,/-]+\s+){3}(?:[\d*,/-]|[a-z]{3})+\s+(?:[\d*,/-]|[a-z]{3})+$/i;

/** @throws Error that says what is wrong with it */
function parse(cron: string, timezone?: string, after?: Date): CronExpression {
  const text = cron.trim();
  const five = nicknames[text.toLowerCase()] ?? text;
  if (!fields.test(five)) throw new Error('Expected five fields, as in "0 9 * * 1-5", or a name like @hourly.');
  return CronExpressionParser.parse(five, { tz: timezone ?? 'UTC', currentDate: after ?? new Date(0) });
}

/** What is wrong with an expression, in words; undefined when nothing is. One that never comes true is wrong too. */
export function findCronProblem(cron: string): string | undefined {
  try {
    parse(cron);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The zone as the tz database spells it; undefined when it has no such zone. Offsets like `+02:00` are no zones. */
export function findTimezone(name: string): string | undefined {
  if (!/^[a-z]/i.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/**
 * The same times in expressions of plain numbers, which Temporal reads no other way than we do. Where both days are
 * given, crontab(5) means either and Temporal both: then it is two expressions.
 */
export function temporalExpressions(cron: string): string[] {
  const { minute, hour, dayOfMonth, month, dayOfWeek } = parse(cron).fields;
  const list = (field: { isWildcard: boolean; values: readonly (number | string)[] }, modulus = Infinity) =>
    field.isWildcard ? '*' : [...new Set(field.values.map((value) => Number(value) % modulus))].join(',');
  const on = (day: string, weekday: string) => `${list(minute)} ${list(hour)} ${day} ${list(month)} ${weekday}`;
  const [day, weekday] = [list(dayOfMonth), list(dayOfWeek, 7)];
  return day === '*' || weekday === '*' ? [on(day, weekday)] : [on(day, '*'), on('*', weekday)];
}

/** Whether the clocks of the zone show a time of the expression at this moment, which is when Temporal starts a run. */
export const includesTime = (cron: string, timezone: string, at: Date): boolean =>
  parse(cron, timezone).includesDate(at);

/**
 * The next times, as Temporal names them but for an hour that clocks repeat: there it may choose the other one, or both.
 * @param after exclusive
 */
export function nextTimes(cron: string, timezone: string, after: Date, count: number): Date[] {
  const expression = parse(cron, timezone, after);
  const times: Date[] = [];
  for (const next of expression) {
    const time = next.toDate();
    // Where clocks leap over a time, the parser names one nearby, and Temporal none.
    if (expression.includesDate(time)) times.push(time);
    if (times.length === count) break;
  }
  return times;
}
