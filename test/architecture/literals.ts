import type { SourceFile } from './source-graph.ts';
import { type Node, nodesOf } from './syntax-tree.ts';

const isLiteral = ({ type }: Node) => type === 'ObjectExpression' || type === 'ArrayExpression';

/** Literals that are spread into a literal or into arguments, as `path:line`. Their members belong into the outer one. */
export function spreadLiterals(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    if (!/\.{3}\s*[[{]/.test(file.text)) return [];
    return [...nodesOf(file)]
      .filter(({ type, argument }) => type === 'SpreadElement' && isLiteral(argument as Node))
      .map(({ loc }) => `${file.path}:${loc.start.line}`);
  });
}
