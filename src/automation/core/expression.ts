// Pure library: an interpreter without clock, chance or input and output.
import { Environment } from '@marcbachmann/cel-js';
import { ExpressionMeter } from './expression-meter.ts';
import {
  ExpressionError,
  loopNesting,
  namesIn,
  type Simplicity,
  simplicityOf,
  stepsIn,
  stepsNeededIn,
} from './expression-nodes.ts';
import { problemOf } from './expression-problems.ts';
import { requireJsonType, toJson } from './expression-results.ts';
import type { TemplateValues } from './template.ts';

export { ExpressionError } from './expression-nodes.ts';

export const maxSourceLength = 2_000;
const limits = { maxAstNodes: 200, maxDepth: 24, maxListElements: 100, maxMapEntries: 100, maxCallArguments: 8 };
/** Elements of a list that a loop, and a loop within a loop, may be given. */
const maxElements = { 0: Number.POSITIVE_INFINITY, 1: 100_000, 2: 1_000 } as const;

/** Numbers that came as JSON are doubles; people write `x + 1` and mean it. */
const withoutNames = new Environment({
  unlistedVariablesAreDyn: false,
  homogeneousAggregateLiterals: false,
  enableOptionalTypes: true,
  limits,
})
  .registerOperator('double + int', (a: number, b: bigint) => a + Number(b))
  .registerOperator('int + double', (a: bigint, b: number) => Number(a) + b)
  .registerOperator('double - int', (a: number, b: bigint) => a - Number(b))
  .registerOperator('int - double', (a: bigint, b: number) => Number(a) - b)
  .registerOperator('double * int', (a: number, b: bigint) => a * Number(b))
  .registerOperator('int * double', (a: bigint, b: number) => Number(a) * b)
  .registerOperator('double / int', (a: number, b: bigint) => a / Number(b))
  .registerOperator('int / double', (a: bigint, b: number) => Number(a) / b)
  .registerOperator('double % int', (a: number, b: bigint) => remainder(a, Number(b)))
  .registerOperator('int % double', (a: bigint, b: number) => remainder(Number(a), b))
  .registerOperator('double % double', remainder);

const ofRun = withoutNames
  .clone()
  .registerVariable('input', 'dyn')
  .registerVariable('variables', 'map')
  .registerVariable('steps', 'map');
const ofEvent = withoutNames.clone().registerVariable('event', 'dyn');
const ofRunAndEvent = ofRun.clone().registerVariable('event', 'dyn');

function remainder(a: number, b: number): number {
  if (!Number.isInteger(a) || !Number.isInteger(b)) {
    throw new ExpressionError('The operator % takes whole numbers.');
  }
  if (b === 0) throw new ExpressionError('A number is divided by zero.');
  return a % b;
}

/** Whether a step id can stand behind a dot; one with a hyphen reads as a subtraction. */
const hint = (source: string): string =>
  /steps\.[A-Za-z0-9_]+-/.test(source) ? ' A step whose id has a hyphen is written steps["my-step"].' : '';

const withHint = (problem: ExpressionError, source: string): ExpressionError =>
  new ExpressionError(problem.message + hint(source));

/**
 * Which names an expression knows, and what it gives: conditions and transforms look at a run, a `match` at a run and an
 * event, a `filter` and an `event_value` at an event alone.
 */
export type ExpressionKind = 'condition' | 'transform' | 'match' | 'filter' | 'event_value';

const environments = {
  condition: ofRun,
  transform: ofRun,
  match: ofRunAndEvent,
  filter: ofEvent,
  event_value: ofEvent,
} as const satisfies Record<ExpressionKind, Environment>;

/** The kinds that must be true or false, and what they are called. */
const truths: Partial<Record<ExpressionKind, string>> = {
  condition: 'A condition',
  match: 'A match',
  filter: 'A filter',
};

/** What an expression is evaluated with. */
export type ExpressionValues = Partial<TemplateValues> & { event?: unknown };

/** An expression whose syntax is right. Its types are not checked yet. */
export interface ParsedExpression {
  readonly source: string;
  readonly kind: ExpressionKind;
  /** Ids of the steps whose outputs it looks at; `all` when that shows only as it runs. */
  readonly steps: ReadonlySet<string> | 'all';
  /** Every name that it mentions. */
  readonly names: ReadonlySet<string>;
  /** Absent for expressions whose cost does not follow from their values' size. */
  readonly simplicity: Simplicity | undefined;
}

/** Counts characters as the reference does, and not UTF-16 units. @returns a sentence, or undefined */
export function findLengthProblem(source: string): string | undefined {
  const isShort = source.length <= 2 * maxSourceLength && [...source].length <= maxSourceLength;
  return isShort ? undefined : `An expression may have ${maxSourceLength} characters at most.`;
}

function parse(source: string, kind: ExpressionKind) {
  const problem = findLengthProblem(source);
  if (problem) throw new ExpressionError(problem);
  try {
    return environments[kind].parse(source);
  } catch (error) {
    throw withHint(problemOf(error, source, 'The expression is not valid CEL.'), source);
  }
}

/** Takes time linear in the length of `source`. @throws ExpressionError */
export function parseExpression(source: string, kind: ExpressionKind): ParsedExpression {
  const { ast } = parse(source, kind);
  loopNesting(ast);
  return { source, kind, steps: stepsIn(ast), names: namesIn(ast), simplicity: simplicityOf(ast) };
}

/** Steps of the interpreter, or characters looked at, that take about a millisecond. */
const cheapWork = 2_000_000;
/** The library keeps each type of nested values that it has seen. */
const cheapDepth = 6;

/** Characters and members of a value; Infinity for one that is larger than `limit`, or nested deeper than a cheap one. */
function sizeOf(value: unknown, limit: number, depth = 0): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  if (depth > cheapDepth) return Number.POSITIVE_INFINITY;
  let size = 1;
  for (const name in value) {
    size += name.length + sizeOf((value as Record<string, unknown>)[name], limit - size, depth + 1);
    if (size > limit) return Number.POSITIVE_INFINITY;
  }
  return size;
}

/**
 * Whether evaluating takes a millisecond at most, whatever the values hold. Every node looks at most at what all nodes
 * together were given; one that searches looks at each character of one text for each of another.
 */
export function isProvedCheap({ source, simplicity }: ParsedExpression, values: object): boolean {
  if (!simplicity) return false;
  const { nodes, searches } = simplicity;
  const limit = searches ? Math.sqrt(cheapWork / nodes ** 2) : cheapWork / nodes ** 2;
  return source.length + sizeOf(values, limit) <= limit;
}

export interface Expression {
  readonly steps: ParsedExpression['steps'];
  /** Ids of the steps without whose output it fails. */
  readonly needed: ReadonlySet<string>;
  /** May be costly: unless it `isProvedCheap`, it belongs into a process of its own. @throws ExpressionError */
  evaluate(values: ExpressionValues): unknown;
}

/**
 * Compiles and checks a CEL expression over `input`, `variables` and `steps` (`steps.<id>.output`, as in templates), or over
 * the `event`, as its kind says.
 * @param kind a condition, a match and a filter must be truth values, as far as that can be told before they run
 * @throws ExpressionError
 */
export function compileExpression(source: string, kind: ExpressionKind): Expression {
  const program = parse(source, kind);
  const nesting = loopNesting(program.ast) as keyof typeof maxElements;
  const checked = program.check();
  if (!checked.valid) throw withHint(problemOf(checked.error, source, 'The expression is not valid CEL.'), source);
  const truth = truths[kind];
  if (truth && checked.type !== 'bool' && checked.type !== 'dyn') {
    throw new ExpressionError(`${truth} must be true or false; this one is of type ${checked.type}.`);
  }
  if (!truth) requireJsonType(checked.type ?? 'dyn');
  const meter = new ExpressionMeter(program.ast);
  return {
    steps: stepsIn(program.ast),
    needed: stepsNeededIn(program.ast),
    evaluate({ input = null, variables = {}, steps = {}, event = null }) {
      const run = { input, variables, steps: mapMembers(steps, (output) => ({ output })) };
      const values = kind === 'filter' || kind === 'event_value' ? { event } : { ...run, event };
      if (largestListIn(values) > maxElements[nesting]) {
        throw new ExpressionError('A list is too long for this expression.');
      }
      meter.reset();
      let result: unknown;
      try {
        result = program(values);
      } catch (error) {
        meter.check();
        throw withHint(problemOf(error, source, 'The expression cannot be evaluated.'), source);
      }
      meter.check();
      if (truth && typeof result !== 'boolean') {
        throw new ExpressionError(`${truth} must be true or false; this one gave ${typeof result}.`);
      }
      return toJson(result);
    },
  };
}

/** Any name may be a member's, `__proto__` too. */
const mapMembers = (record: Record<string, unknown>, map: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));

function largestListIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Array.isArray(value) ? value : Object.values(value);
  return members.reduce((max: number, one) => Math.max(max, largestListIn(one)), members.length);
}
