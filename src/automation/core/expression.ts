// Pure library: an interpreter without clock, chance or input and output.
import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import type { TemplateValues } from './template.ts';

export const maxSourceLength = 2_000;
/** Bounds on one expression; with them and the bounds on values an evaluation takes milliseconds. */
const limits = { maxAstNodes: 200, maxDepth: 24, maxListElements: 100, maxMapEntries: 100, maxCallArguments: 8 };
const maxLoopNesting = 2;
/** Elements that one loop, and a loop within a loop, may go over. */
const maxElements = { 0: Number.POSITIVE_INFINITY, 1: 100_000, 2: 1_000 } as const;
/** Characters of a result. Loops over long texts could build one that no memory holds. */
const maxResultLength = 4 * 1024 * 1024;

/** What is wrong with an expression or its evaluation, in words for whoever wrote it. */
export class ExpressionError extends Error {
  override name = 'ExpressionError';
}

/** Numbers that came as JSON are doubles; people write `x + 1` and mean it. */
const environment = new Environment({
  unlistedVariablesAreDyn: false,
  homogeneousAggregateLiterals: false,
  enableOptionalTypes: true,
  limits,
})
  .registerVariable('input', 'dyn')
  .registerVariable('variables', 'map')
  .registerVariable('steps', 'map')
  .registerOperator('double + int', (a: number, b: bigint) => a + Number(b))
  .registerOperator('int + double', (a: bigint, b: number) => Number(a) + b)
  .registerOperator('double - int', (a: number, b: bigint) => a - Number(b))
  .registerOperator('int - double', (a: bigint, b: number) => Number(a) - b)
  .registerOperator('double * int', (a: number, b: bigint) => a * Number(b))
  .registerOperator('int * double', (a: bigint, b: number) => Number(a) * b)
  .registerOperator('double / int', (a: number, b: bigint) => a / Number(b))
  .registerOperator('int / double', (a: bigint, b: number) => Number(a) / b);

const loops: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

/** Deepest nesting of loops below a node. @throws ExpressionError for what may not be used */
function loopNesting(node: unknown, depth = 0): number {
  if (Array.isArray(node)) return Math.max(depth, ...node.map((one) => loopNesting(one, depth)));
  if (typeof node !== 'object' || node === null || !('op' in node)) return depth;
  const { op, args } = node as ASTNode;
  const called = op === 'call' || op === 'rcall' ? args[0] : undefined;
  // Its regular expressions are JavaScript's own, and some of those never end.
  if (called === 'matches') throw new ExpressionError('matches() is not available.');
  const inner = op === 'rcall' && loops.has(called as string) ? depth + 1 : depth;
  if (inner > maxLoopNesting) throw new ExpressionError(`Loops may be nested ${maxLoopNesting} deep at most.`);
  return Math.max(inner, ...[args].flat().map((one) => loopNesting(one, inner)));
}

const firstLine = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n')[0] ?? '').slice(0, 200) : 'It cannot be evaluated.';

/** Whether a step id can stand behind a dot; one with a hyphen reads as a subtraction. */
const hint = (source: string): string =>
  /steps\.[A-Za-z0-9_]+-/.test(source) ? ' A step whose id has a hyphen is written steps["my-step"].' : '';

export interface Expression {
  /** Ids of the steps whose outputs it looks at; `all` when that shows only as it runs. */
  readonly steps: ReadonlySet<string> | 'all';
  /** @throws ExpressionError */
  evaluate(values: TemplateValues): unknown;
}

const memberAccess: ReadonlySet<string> = new Set(['.', '.?', '[]', '[?]']);

/** Collects the ids of the steps that a node names. @returns false when `steps` is used in any other way */
function collectSteps(node: unknown, found: Set<string>): boolean {
  if (Array.isArray(node)) return node.every((one) => collectSteps(one, found));
  if (typeof node !== 'object' || node === null || !('op' in node)) return true;
  const { op, args } = node as ASTNode;
  if (op === 'id') return args !== 'steps';
  if (!memberAccess.has(op)) return collectSteps([args].flat(), found);
  const [from, member] = args as [ASTNode, string | ASTNode];
  if (from.op !== 'id' || from.args !== 'steps') return collectSteps([from, member], found);
  const id = typeof member === 'string' ? member : member.op === 'value' && member.args;
  if (typeof id === 'string') found.add(id);
  return typeof id === 'string';
}

function stepsIn(ast: ASTNode): Expression['steps'] {
  const found = new Set<string>();
  return collectSteps(ast, found) ? found : 'all';
}

/**
 * Compiles and checks a CEL expression over `input`, `variables` and `steps` (`steps.<id>.output`, as in templates).
 * @param kind a condition must be a truth value, as far as that can be told before it runs
 * @throws ExpressionError
 */
export function compileExpression(source: string, kind: 'condition' | 'transform'): Expression {
  if (source.length > maxSourceLength) {
    throw new ExpressionError(`An expression may have ${maxSourceLength} characters at most.`);
  }
  let program: ReturnType<typeof environment.parse>;
  try {
    program = environment.parse(source);
  } catch (error) {
    throw new ExpressionError(firstLine(error) + hint(source));
  }
  const nesting = loopNesting(program.ast) as keyof typeof maxElements;
  const checked = environment.check(source);
  if (!checked.valid) throw new ExpressionError(firstLine(checked.error) + hint(source));
  if (kind === 'condition' && checked.type !== 'bool' && checked.type !== 'dyn') {
    throw new ExpressionError(`A condition must be true or false; this one is of type ${checked.type}.`);
  }
  return {
    steps: stepsIn(program.ast),
    evaluate({ input, variables, steps }) {
      const values = { input, variables, steps: mapMembers(steps, (output) => ({ output })) };
      if (longestCollection(values) > maxElements[nesting]) {
        throw new ExpressionError('A list is too long for this expression.');
      }
      let result: unknown;
      try {
        result = program(values);
      } catch (error) {
        throw new ExpressionError(firstLine(error) + hint(source));
      }
      if (kind === 'condition' && typeof result !== 'boolean') {
        throw new ExpressionError(`A condition must be true or false; this one gave ${typeof result}.`);
      }
      return toJson(result, { left: maxResultLength });
    },
  };
}

/** Any name may be a member's, `__proto__` too. */
const mapMembers = (record: Record<string, unknown>, map: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));

function longestCollection(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Array.isArray(value) ? value : Object.values(value);
  return members.reduce((longest: number, one) => Math.max(longest, longestCollection(one)), members.length);
}

/** The result as JSON has it: CEL's integers become numbers, and its maps objects. */
function toJson(value: unknown, budget: { left: number }): unknown {
  budget.left -= typeof value === 'string' ? value.length : 1;
  if (budget.left < 0) throw new ExpressionError('The result is too large.');
  if (typeof value === 'bigint') {
    if (!Number.isSafeInteger(Number(value))) throw new ExpressionError('The result is a number beyond JSON.');
    return Number(value);
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new ExpressionError('The result is a number beyond JSON.');
  }
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'function' || typeof value === 'symbol') throw new ExpressionError('The result is not JSON.');
    return value ?? null;
  }
  if (Array.isArray(value)) return value.map((one) => toJson(one, budget));
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const prototype = Object.getPrototypeOf(value);
  if (!(value instanceof Map) && prototype !== Object.prototype && prototype !== null) {
    throw new ExpressionError('The result is not JSON.');
  }
  return Object.fromEntries(entries.map(([key, one]) => [String(key), toJson(one, budget)]));
}
