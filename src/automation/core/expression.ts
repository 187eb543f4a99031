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

/** The names that an expression can use, and what CEL knows of each. */
const variableTypes = {
  input: 'dyn',
  variables: 'map',
  steps: 'map',
  item: 'dyn',
  index: 'int',
  total: 'int',
  event: 'dyn',
} as const;
export type ExpressionVariable = keyof typeof variableTypes;

/** The names that the expressions of a step can use, outside and inside a map. */
export const stepVariables: readonly ExpressionVariable[] = ['input', 'variables', 'steps'];
export const itemVariables: readonly ExpressionVariable[] = [...stepVariables, 'item', 'index', 'total'];

/**
 * Numbers from JSON are doubles; people write `x + 1` and expect a sum. The library assumes the type of the left
 * operand for a result that has no declared type.
 */
const bareEnvironment = new Environment({
  unlistedVariablesAreDyn: false,
  homogeneousAggregateLiterals: false,
  enableOptionalTypes: true,
  limits,
})
  .registerOperator('double + int', (a: number, b: bigint) => a + Number(b))
  .registerOperator('int + double: double', (a: bigint, b: number) => Number(a) + b)
  .registerOperator('double - int', (a: number, b: bigint) => a - Number(b))
  .registerOperator('int - double: double', (a: bigint, b: number) => Number(a) - b)
  .registerOperator('double * int', (a: number, b: bigint) => a * Number(b))
  .registerOperator('int * double: double', (a: bigint, b: number) => Number(a) * b)
  .registerOperator('double / int', (a: number, b: bigint) => a / Number(b))
  .registerOperator('int / double: double', (a: bigint, b: number) => Number(a) / b)
  .registerOperator('double % int', (a: number, b: bigint) => remainder(a, Number(b)))
  .registerOperator('int % double: double', (a: bigint, b: number) => remainder(Number(a), b))
  .registerOperator('double % double', remainder);

const environments = new Map<string, Environment>();

function environmentWith(variables: readonly ExpressionVariable[]): Environment {
  const key = variables.join();
  const known = environments.get(key);
  if (known) return known;
  let environment = bareEnvironment.clone();
  for (const name of variables) environment = environment.registerVariable(name, variableTypes[name]);
  environments.set(key, environment);
  return environment;
}

function remainder(a: number, b: number): number {
  if (!Number.isInteger(a) || !Number.isInteger(b)) {
    throw new ExpressionError('The operator % takes whole numbers.');
  }
  if (b === 0) throw new ExpressionError('A number is divided by zero.');
  return a % b;
}

/** A hint about a common mistake: a placeholder of templates, or a step id that reads as a subtraction. */
function hint(source: string): string {
  if (source.includes('{{')) return ' An expression has no {{ }}: input.name is written as it is.';
  return /steps\.[A-Za-z0-9_]+-/.test(source) ? ' A step whose id has a hyphen is written steps["my-step"].' : '';
}

const withHint = (problem: ExpressionError, source: string): ExpressionError =>
  new ExpressionError(problem.message + hint(source));

/**
 * What an expression gives, and which names it knows unless others are given: conditions, transforms and `items` look at a run,
 * a `match` at a run and an event, a `filter` and an `event_value` at an event alone.
 */
export type ExpressionKind = 'condition' | 'transform' | 'items' | 'match' | 'filter' | 'event_value';

const variablesOf: Record<ExpressionKind, readonly ExpressionVariable[]> = {
  condition: stepVariables,
  transform: stepVariables,
  items: stepVariables,
  match: [...stepVariables, 'event'],
  filter: ['event'],
  event_value: ['event'],
};

/** The kinds that must be true or false, and their names. */
const truths: Partial<Record<ExpressionKind, string>> = {
  condition: 'A condition',
  match: 'A match',
  filter: 'A filter',
};

/** An expression whose syntax is right. Its types are not checked yet. */
export interface ParsedExpression {
  readonly source: string;
  readonly kind: ExpressionKind;
  /** The names that it can use. */
  readonly variables: readonly ExpressionVariable[];
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

const notValid = 'The expression is not valid CEL.';

function parse(source: string, variables: readonly ExpressionVariable[]) {
  const problem = findLengthProblem(source);
  if (problem) throw new ExpressionError(problem);
  try {
    return environmentWith(variables).parse(source);
  } catch (error) {
    throw withHint(problemOf(error, source, notValid, variables), source);
  }
}

/** Takes time linear in the length of `source`. @throws ExpressionError */
export function parseExpression(
  source: string,
  kind: ExpressionKind,
  variables: readonly ExpressionVariable[] = variablesOf[kind],
): ParsedExpression {
  const { ast } = parse(source, variables);
  loopNesting(ast);
  return { source, kind, variables, steps: stepsIn(ast), names: namesIn(ast), simplicity: simplicityOf(ast) };
}

/** Steps of the interpreter, or characters looked at, that take about a millisecond. */
export const cheapWork = 2_000_000;
/** The library keeps each type of nested values that it has seen. */
const cheapDepth = 6;

/**
 * Characters and members of a value; Infinity for a value that is larger than `limit`, or nested deeper than a cheap
 * one.
 */
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
 * Whether an evaluation takes at most a millisecond, whatever the values are. Every node reads at most the data that
 * all nodes together were given; a search compares each character of one text with each of another.
 */
export function isProvedCheap({ source, simplicity }: ParsedExpression, values: object): boolean {
  if (!simplicity) return false;
  const { nodes, searches } = simplicity;
  const limit = searches ? Math.sqrt(cheapWork / nodes ** 2) : cheapWork / nodes ** 2;
  return source.length + sizeOf(values, limit) <= limit;
}

/** The values of an expression's variables. */
export type ExpressionValues = Partial<TemplateValues> & { event?: unknown };

export interface Expression {
  readonly steps: ParsedExpression['steps'];
  /** Ids of the steps without whose output it fails. */
  readonly needed: ReadonlySet<string>;
  /** May be costly: unless it `isProvedCheap`, it belongs into a process of its own. @throws ExpressionError */
  evaluate(values: ExpressionValues): unknown;
}

/** @param type what the checked expression gives, as far as that is known before it runs */
function requireType(kind: ExpressionKind, type: string): void {
  const truth = truths[kind];
  if (!truth) requireJsonType(type);
  else if (type !== 'bool' && type !== 'dyn') {
    throw new ExpressionError(`${truth} must be true or false; this one is of type ${type}.`);
  }
  if (kind === 'items' && type !== 'dyn' && type !== 'list' && !type.startsWith('list<')) {
    throw new ExpressionError(`The items must be a list; this is of type ${type}.`);
  }
}

function requireResult(kind: ExpressionKind, result: unknown): void {
  const truth = truths[kind];
  if (truth && typeof result !== 'boolean') {
    throw new ExpressionError(`${truth} must be true or false; this one gave ${typeof result}.`);
  }
  if (kind === 'items' && !Array.isArray(result)) throw new ExpressionError('The items must be a list.');
}

/** In the form of the library: whole numbers as bigint, and only those that an expression can use. */
function celValues(
  { input = null, variables = {}, steps = {}, scope, event = null }: ExpressionValues,
  names: readonly ExpressionVariable[],
): Record<string, unknown> {
  const values: Record<ExpressionVariable, unknown> = {
    input,
    variables,
    steps: mapMembers(steps, (output) => ({ output })),
    item: scope?.item ?? null,
    index: BigInt(scope?.index ?? 0),
    total: BigInt(scope?.total ?? 0),
    event,
  };
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}

/**
 * Compiles and checks a CEL expression over the given variables; outputs are `steps.<id>.output`, as in templates.
 * @param kind a condition, a match and a filter must be truth values and items a list, as far as that is known before
 *   they run
 * @throws ExpressionError
 */
export function compileExpression(
  source: string,
  kind: ExpressionKind,
  variables: readonly ExpressionVariable[] = variablesOf[kind],
): Expression {
  const program = parse(source, variables);
  const nesting = loopNesting(program.ast) as keyof typeof maxElements;
  const checked = program.check();
  if (!checked.valid) throw withHint(problemOf(checked.error, source, notValid, variables), source);
  requireType(kind, checked.type ?? 'dyn');
  const meter = new ExpressionMeter(program.ast);
  return {
    steps: stepsIn(program.ast),
    needed: stepsNeededIn(program.ast),
    evaluate(given) {
      const values = celValues(given, variables);
      if (largestListIn(values) > maxElements[nesting]) {
        throw new ExpressionError('A list is too long for this expression.');
      }
      meter.reset();
      let result: unknown;
      try {
        result = program(values);
      } catch (error) {
        meter.check();
        throw withHint(problemOf(error, source, 'The expression cannot be evaluated.', variables), source);
      }
      meter.check();
      requireResult(kind, result);
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
