// Counts what an expression makes while it runs.
import type { ASTNode } from '@marcbachmann/cel-js';
import { ExpressionError } from './expression-nodes.ts';

const mebibyte = 1024 * 1024;
/** Maximum size of one text, of one list, and of everything together. */
const limits = { characters: mebibyte, elements: 10_000, bytes: 64 * mebibyte };

/** An element of a growing list is a reference of this size. */
const elementBytes = 8;

type Evaluate = (evaluator: unknown, node: unknown, context: unknown) => unknown;

/** Members of a node that the library does not publish: it rewrites macros into `alternate` or `macro`. */
interface NodeMeta {
  evaluate: Evaluate;
  alternate?: unknown;
  macro?: unknown;
}
type MeteredNode = ASTNode & { meta: NodeMeta; setMeta(name: 'evaluate', evaluate: Evaluate): void };

/** Operators that create a new result, which may be larger than their operands. */
const making: ReadonlySet<string> = new Set(['+', 'call', 'rcall', 'accuPush']);
/** They return an existing value. */
const handingOn: ReadonlySet<string> = new Set(['dyn', 'value', 'orValue', 'or', 'of']);

const isNode = (value: object): value is MeteredNode => 'op' in value && 'meta' in value;
const isPlain = (value: object): boolean => Object.getPrototypeOf(value) === Object.prototype;

function* nodesBelow(value: unknown, seen = new Set<object>()): Generator<MeteredNode> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (isNode(value)) {
    const { alternate, macro } = value.meta;
    if (alternate === undefined && macro === undefined) yield value;
    yield* nodesBelow(alternate ?? macro ?? value.args, seen);
  } else if (Array.isArray(value) || isPlain(value)) {
    for (const one of Object.values(value)) yield* nodesBelow(one, seen);
  }
}

/** Holds the evaluations of one expression to their limits. */
export class ExpressionMeter {
  #bytes = 0;
  #exceeded: ExpressionError | undefined;

  /** Counts what the nodes of a checked expression create from now on. */
  constructor(ast: ASTNode) {
    for (const node of nodesBelow(ast)) {
      if (!making.has(node.op)) continue;
      const called = node.op === 'call' || node.op === 'rcall' ? (node.args[0] as string) : '';
      if (handingOn.has(called)) continue;
      const evaluate = node.meta.evaluate;
      const isGrowing = (node.op as string) === 'accuPush';
      node.setMeta('evaluate', (evaluator, one, context) => {
        this.check();
        const made = evaluate(evaluator, one, context);
        this.#count(made, isGrowing);
        return made;
      });
    }
  }

  /** Begins another evaluation. */
  reset(): void {
    this.#bytes = 0;
    this.#exceeded = undefined;
  }

  /** Loops and logical operators continue after an error: the first reached limit is stored here. */
  check(): void {
    if (this.#exceeded) throw this.#exceeded;
  }

  #count(made: unknown, isGrowing: boolean): void {
    if (typeof made === 'string') this.#add(made.length, made.length, limits.characters, 'text', '1 MiB');
    else if (made instanceof Uint8Array) this.#add(made.length, made.length, limits.characters, 'text', '1 MiB');
    else if (Array.isArray(made)) {
      this.#add(made.length, elementBytes * (isGrowing ? 1 : made.length), limits.elements, 'list', '10,000 elements');
    }
  }

  #add(size: number, bytes: number, limit: number, what: string, words: string): void {
    this.#bytes += bytes;
    if (size > limit) this.#exceeded = new ExpressionError(`The expression makes a ${what} of more than ${words}.`);
    else if (this.#bytes > limits.bytes) this.#exceeded = new ExpressionError('The expression needs too much memory.');
    this.check();
  }
}
