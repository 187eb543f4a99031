// Facts about an expression that its syntax tree alone shows, before types are checked and anything runs.
import type { ASTNode } from '@marcbachmann/cel-js';

/** Why an expression, or its evaluation, is refused, in words for its author. */
export class ExpressionError extends Error {
  override name = 'ExpressionError';
}

const maxLoopNesting = 2;
const loops: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

function asNode(value: unknown): ASTNode | undefined {
  return typeof value === 'object' && value !== null && 'op' in value ? (value as ASTNode) : undefined;
}

/** Name of the function that a node calls. */
function calledBy({ op, args }: ASTNode): string | undefined {
  return op === 'call' || op === 'rcall' ? (args[0] as string) : undefined;
}

/** Deepest nesting of loops below a node. @throws ExpressionError for functions that are not available */
export function loopNesting(value: unknown, depth = 0): number {
  if (Array.isArray(value)) return Math.max(depth, ...value.map((one) => loopNesting(one, depth)));
  const node = asNode(value);
  if (!node) return depth;
  const called = calledBy(node);
  // It uses JavaScript's regular expressions, and some of those never end.
  if (called === 'matches') throw new ExpressionError('matches() is not available.');
  const inner = node.op === 'rcall' && loops.has(called!) ? depth + 1 : depth;
  if (inner > maxLoopNesting) throw new ExpressionError(`Loops may be nested ${maxLoopNesting} deep at most.`);
  return Math.max(inner, ...[node.args].flat().map((one) => loopNesting(one, inner)));
}

const memberAccess: ReadonlySet<string> = new Set(['.', '.?', '[]', '[?]']);

/** Collects the ids of the steps that a node names. @returns false when `steps` is used in any other way */
function collectSteps(value: unknown, found: Set<string>): boolean {
  if (Array.isArray(value)) return value.every((one) => collectSteps(one, found));
  const node = asNode(value);
  if (!node) return true;
  if (node.op === 'id') return node.args !== 'steps';
  if (!memberAccess.has(node.op)) return collectSteps([node.args].flat(), found);
  const [from, member] = node.args as [ASTNode, string | ASTNode];
  if (from.op !== 'id' || from.args !== 'steps') return collectSteps([from, member], found);
  const id = typeof member === 'string' ? member : member.op === 'value' && member.args;
  if (typeof id === 'string') found.add(id);
  return typeof id === 'string';
}

/** Ids of the steps whose outputs an expression looks at; `all` when that shows only as it runs. */
export function stepsIn(ast: ASTNode): ReadonlySet<string> | 'all' {
  const found = new Set<string>();
  return collectSteps(ast, found) ? found : 'all';
}

/** What a node reads in every case. The other operand of && or || can make up for an error in one operand. */
function alwaysSeen(node: ASTNode): unknown[] {
  const operands = [node.args].flat(2);
  const called = calledBy(node);
  if (['||', '&&', '.?', '[?]'].includes(node.op) || called === 'has' || called === 'bind') return [];
  // A choice always evaluates its condition, and a loop its list.
  if (node.op === '?:') return operands.slice(0, 1);
  return node.op === 'rcall' && loops.has(called!) ? [operands[1]] : operands;
}

function collectNeeded(value: unknown, found: Set<string>): void {
  const node = asNode(value);
  if (!node) return;
  if (node.op === '.' || node.op === '[]') {
    const [from, member] = node.args as [ASTNode, string | ASTNode];
    const id = typeof member === 'string' ? member : member.op === 'value' && member.args;
    if (from.op === 'id' && from.args === 'steps' && typeof id === 'string') found.add(id);
  }
  for (const seen of alwaysSeen(node)) collectNeeded(seen, found);
}

/** Ids of the steps whose outputs the expression needs: without one it fails, whatever else it is given. */
export function stepsNeededIn(ast: ASTNode): ReadonlySet<string> {
  const found = new Set<string>();
  collectNeeded(ast, found);
  return found;
}

/** Every identifier of an expression. */
export function namesIn(value: unknown): ReadonlySet<string> {
  if (Array.isArray(value)) return new Set(value.flatMap((one) => [...namesIn(one)]));
  const node = asNode(value);
  if (!node) return new Set();
  return node.op === 'id' ? new Set([node.args]) : namesIn([node.args].flat(2));
}

const plainOperators: ReadonlySet<string> = new Set([
  'value',
  'id',
  '.',
  '.?',
  '[]',
  '[?]',
  '?:',
  '||',
  '&&',
  '!_',
  '-_',
  '==',
  '!=',
  'in',
  '+',
  '-',
  '*',
  '/',
  '%',
  '<',
  '<=',
  '>',
  '>=',
]);
/** Functions that take time linear in their operands and return nothing longer than their operands. */
const plainFunctions: ReadonlySet<string> = new Set([
  'size',
  'has',
  'startsWith',
  'endsWith',
  'trim',
  'substring',
  'int',
  'double',
  'string',
  'bool',
  'type',
  'orValue',
  'or',
  'value',
  'hasValue',
  'lowerAscii',
  'upperAscii',
]);
/** They look for one text in another, which takes as long as both lengths multiplied. */
const searches: ReadonlySet<string> = new Set(['contains', 'indexOf', 'lastIndexOf']);

export interface Simplicity {
  nodes: number;
  searches: boolean;
}

/**
 * The size of an expression that has no loop, binds no name, and calls only functions of the lists above. Then each of
 * its nodes is evaluated once, and its result is at most as long as all its inputs, once per node.
 * @returns undefined for any other expression
 */
export function simplicityOf(value: unknown, inLiteral = false): Simplicity | undefined {
  if (Array.isArray(value)) {
    const sum: Simplicity = { nodes: 0, searches: false };
    for (const one of value) {
      const part = simplicityOf(one, inLiteral);
      if (!part) return undefined;
      sum.nodes += part.nodes;
      sum.searches ||= part.searches;
    }
    return sum;
  }
  const node = asNode(value);
  if (!node) return { nodes: 0, searches: false };
  const called = calledBy(node);
  const isLiteral = node.op === 'list' || node.op === 'map';
  // Literals within literals make types without end, which the library keeps.
  const isPlain = called === undefined ? plainOperators.has(node.op) || (isLiteral && !inLiteral) : false;
  if (!isPlain && !plainFunctions.has(called ?? '') && !searches.has(called ?? '')) return undefined;
  const inner = simplicityOf([node.args].flat(2), inLiteral || isLiteral);
  return inner && { nodes: inner.nodes + 1, searches: inner.searches || searches.has(called ?? '') };
}
