import { type CronExpression, CronExpressionParser } from 'cron-parser';
import { CronProblem, normalizeFields } from './cron-fields.ts';

/** The limit of the comment in which Temporal shows the expression. */
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
const fiveFields = /^(?:[\d*,/-]+\s+){3}(?:[\d*,/-]|[A-Za-z]{3})+\s+(?:[\d*,/-]|[A-Za-z]{3})+$/;

/** The form of an expression, for the reference. Not each text of this form is a valid expression. */
export const cronPattern = `^(${Object.keys(nicknames).join('|')}|${fiveFields.source.slice(1, -1)})$`;

/** @throws CronProblem */
function parse(cron: string, timezone?: string, after?: Date): CronExpression {
  const text = cron.trim();
  const five = nicknames[text.toLowerCase()] ?? text;
  if (!fiveFields.test(five))
    throw new CronProblem('Expected five fields, as in "0 9 * * 1-5", or a name like @hourly.');
  const normalized = normalizeFields(five);
  try {
    return CronExpressionParser.parse(normalized, { tz: timezone ?? 'UTC', currentDate: after ?? new Date(0) });
  } catch {
    throw new CronProblem('No date matches: none of its months has such a day.');
  }
}

/** The reason why an expression is invalid; undefined if it is valid. An expression that never matches is invalid. */
export function findCronProblem(cron: string): string | undefined {
  try {
    parse(cron);
    return undefined;
  } catch (error) {
    if (error instanceof CronProblem) return error.message;
    throw error;
  }
}

/**
 * The same times in expressions that Temporal reads identically: numbers only. If day of month and day of week are both
 * given, crontab(5) matches either and Temporal both, so the result has two expressions.
 */
export function temporalExpressions(cron: string): string[] {
  const { minute, hour, dayOfMonth, month, dayOfWeek } = parse(cron).fields;
  const list = (field: { isWildcard: boolean; values: readonly (number | string)[] }, modulus = Infinity) =>
    field.isWildcard ? '*' : [...new Set(field.values.map((value) => Number(value) % modulus))].join(',');
  const on = (day: string, weekday: string) => `${list(minute)} ${list(hour)} ${day} ${list(month)} ${weekday}`;
  const [day, weekday] = [list(dayOfMonth), list(dayOfWeek, 7)];
  return day === '*' || weekday === '*' ? [on(day, weekday)] : [on(day, '*'), on('*', weekday)];
}

/** Whether an expression matches this moment in the zone. */
export const includesTime = (cron: string, timezone: string, at: Date): boolean =>
  parse(cron, timezone).includesDate(at);

/**
 * The next times. They are Temporal's, except in the hour that is repeated when daylight saving time ends: there Temporal
 * may choose the other time, or both.
 * @param after exclusive
 */
export function nextTimes(cron: string, timezone: string, after: Date, count: number): Date[] {
  const expression = parse(cron, timezone, after);
  const times: Date[] = [];
  for (const next of expression) {
    const time = next.toDate();
    // For a time that daylight saving skips, the parser returns one nearby; Temporal skips it.
    if (expression.includesDate(time)) times.push(time);
    if (times.length === count) break;
  }
  return times;
}
