import { type ParserPlugin, parse } from '@babel/parser';
import type { SourceFile } from './source-graph.ts';

/** A node of a syntax tree, with the members that every node has. */
export interface Node {
  type: string;
  start: number;
  end: number;
  loc: { start: { line: number } };
  [member: string]: unknown;
}

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'loc' in value;

function* walk(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const one of value) yield* walk(one);
  if (!isNode(value)) return;
  yield value;
  for (const [name, member] of Object.entries(value)) if (!/comments$/i.test(name)) yield* walk(member);
}

/** Every node of a file's syntax tree, parents first. */
export function* nodesOf(file: Pick<SourceFile, 'text'> & { path?: string }): Generator<Node> {
  const plugins: ParserPlugin[] = file.path?.endsWith('.tsx') ? ['typescript', 'jsx'] : ['typescript'];
  yield* walk(parse(file.text, { sourceType: 'module', plugins }).program);
}
