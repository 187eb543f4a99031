import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Recheck from 'recheck';
import type { SourceFile } from './source-graph.ts';
import { isNode, type Node, nodesOf } from './syntax-tree.ts';

/** A regular expression of the code, and where it is. */
export interface Expression {
  path: string;
  line: number;
  source: string;
  flags: string;
}

/** Values of what expressions are composed of, by file and by how the code writes the part. */
const parts: Record<string, Record<string, string>> = {
  'api/requests/route-template.ts': { secretSegment: ':secret{trg_[0-9A-Za-z]+}' },
  'api/schemas/integrations/webhooks.ts': { fewestCharacters: '24', maxCharacters: '255' },
  'api/schemas/studio/requests.ts': { "aspectRatios.join('|')": '1:1|16:9|9:16|4:3|3:4' },
  'src/platform/core/ids.ts': { start: 'wf_' },
  'src/providers/sandbox/speech/pieces.ts': { maxSigns: '2', maxMarks: '100' },
  'src/scheduling/bookings/booking-pages.ts': { tokenLength: '22' },
  'src/storage/core/file-types.ts': { "Object.keys(servedTypes).join('|')": 'png|jpg|webp|mp4|mp3' },
};

/** @throws Error for a text that is composed of something that `parts` does not know */
function textOf(node: Node, { path, text }: SourceFile): string {
  const [left, right] = [node.left, node.right];
  if (node.type === 'StringLiteral') return node.value as string;
  if (node.type === 'BinaryExpression' && node.operator === '+' && isNode(left) && isNode(right))
    return textOf(left, { path, text } as SourceFile) + textOf(right, { path, text } as SourceFile);
  if (node.type === 'TemplateLiteral') {
    const values = (node.expressions as Node[]).map((one) => textOf(one, { path, text } as SourceFile));
    const quasis = node.quasis as { value: { cooked: string } }[];
    return quasis.map(({ value }, index) => value.cooked + (values[index] ?? '')).join('');
  }
  const written = text.slice(node.start, node.end);
  const value = parts[path]?.[written];
  if (value === undefined)
    throw new Error(`${path}:${node.loc.start.line} composes an expression of ${written}: write it in one piece,
or give the part a value in test/architecture/expressions.ts`);
  return value;
}

function composed(node: Node, file: SourceFile): Expression | undefined {
  const callee = node.callee as Node | undefined;
  if (!/^(New|Call)Expression$/.test(node.type) || callee?.type !== 'Identifier' || callee.name !== 'RegExp') return;
  const [source, flags] = node.arguments as Node[];
  return {
    path: file.path,
    line: node.loc.start.line,
    source: source ? textOf(source, file) : '',
    flags: flags ? textOf(flags, file) : '',
  };
}

/** Every regular expression of these files: literals, and those that code composes. */
export function expressionsOf(files: readonly SourceFile[]): Expression[] {
  return files.flatMap((file) => {
    if (!/RegExp|\/[^/*\s].*\//.test(file.text)) return [];
    return [...nodesOf(file)].flatMap((node) => {
      if (node.type !== 'RegExpLiteral') return composed(node, file) ?? [];
      const { pattern: source, flags } = node as unknown as { pattern: string; flags: string };
      return [{ path: file.path, line: node.loc.start.line, source, flags }];
    });
  });
}

export const written = ({ source, flags }: Pick<Expression, 'source' | 'flags'>): string => `/${source}/${flags}`;

const recordUrl = new URL('./linear-expressions.json', import.meta.url);

/** Expressions that recheck found linear. It takes seconds for some, so that each is checked once. */
export const readRecord = (): Set<string> => new Set(JSON.parse(readFileSync(recordUrl, 'utf8')));

export const writeRecord = (expressions: Iterable<string>): void =>
  writeFileSync(recordUrl, `${JSON.stringify([...expressions].sort(), undefined, 2)}\n`);

/** @returns why an expression is not known to be linear; undefined when it is */
export function findProblem({ source, flags }: Pick<Expression, 'source' | 'flags'>): string | undefined {
  // The entry without native programs and worker threads. It is loaded here because few runs need it.
  const { checkSync }: typeof Recheck = createRequire(import.meta.url)('recheck/lib/browser.js');
  const found = checkSync(source, flags, { timeout: 60_000 });
  if (found.status === 'safe') return undefined;
  return found.status === 'vulnerable' ? found.complexity.summary : `unknown (${found.error.kind})`;
}

/** Those that are not linear, each with its file and its cost. */
export function nonlinear(expressions: readonly Expression[], known: ReadonlySet<string> = readRecord()): string[] {
  const problems = new Map<string, string | undefined>();
  return expressions.flatMap((one) => {
    const text = written(one);
    if (known.has(text)) return [];
    if (!problems.has(text)) problems.set(text, findProblem(one));
    const problem = problems.get(text);
    return problem === undefined ? [] : [`${one.path}:${one.line}: ${text} is ${problem}`];
  });
}
