/** The five fields of an expression, in their order. */
const fields = [
  { name: 'minute', min: 0, max: 59, names: [] },
  { name: 'hour', min: 0, max: 23, names: [] },
  { name: 'day of the month', min: 1, max: 31, names: [] },
  {
    name: 'month',
    min: 1,
    max: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  // 0 and 7 are Sunday.
  { name: 'day of the week', min: 0, max: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
] as const;
type Field = (typeof fields)[number];

/** Why an expression is not valid, as a sentence for its author. */
export class CronProblem extends Error {
  override name = 'CronProblem';
}

function readValue({ name, min, max, names }: Field, text: string): number {
  const named = (names as readonly string[]).indexOf(text.toLowerCase());
  if (named >= 0) return named + min;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const orNames = names.length > 0 ? ` or a name like ${names[1]}` : '';
  throw new CronProblem(`The ${name} "${text}" is not a number from ${min} to ${max}${orNames}.`);
}

/** The values of one item of a list: `*`, `5`, `1-5`, each perhaps with a step: `1-5/2`. */
function readItem(field: Field, item: string): number[] {
  const { name, min, max } = field;
  const [range = '', step, ...moreSteps] = item.split('/');
  const [first = '', last, ...moreEnds] = range.split('-');
  if (first === '' || last === '' || moreEnds.length > 0 || moreSteps.length > 0) {
    throw new CronProblem(`The ${name} "${item}" is not valid. Expected a form like *, 5, 1-5, 1,5 or */15.`);
  }
  if (step !== undefined && !(/^\d{1,4}$/.test(step) && Number(step) > 0)) {
    throw new CronProblem(`The step "${step}" of the ${name} is not a number above 0.`);
  }
  const from = first === '*' ? min : readValue(field, first);
  const isOpen = first === '*' || step !== undefined;
  const to = last !== undefined ? readValue(field, last) : isOpen ? max : from;
  if (first === '*' && last !== undefined) {
    throw new CronProblem(`The ${name} "${item}" is not valid. A range has a number on both sides.`);
  }
  if (to < from) throw new CronProblem(`The range "${range}" of the ${name} ends before it begins.`);
  const values: number[] = [];
  for (let value = from; value <= to; value += Number(step ?? 1)) values.push(value);
  return values;
}

/** A field with each value once; with a single `*` it stays as it is, because crontab(5) reads the days differently then. */
function readField(field: Field, text: string): string {
  const items = text.split(',');
  const values = items.flatMap((item) => readItem(field, item));
  if (items.length === 1 && text.startsWith('*')) return text;
  const modulus = field.max === 7 ? 7 : Number.POSITIVE_INFINITY;
  const unique = new Set(values.map((value) => value % modulus));
  return [...unique].sort((a, b) => a - b).join(',');
}

/**
 * Checks five fields and writes them with numbers only, Sunday as 0.
 * @throws CronProblem
 */
export function normalizeFields(five: string): string {
  const texts = five.trim().split(/\s+/);
  return fields.map((field, index) => readField(field, texts[index] ?? '')).join(' ');
}
