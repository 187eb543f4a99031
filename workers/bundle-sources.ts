import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

/** Where the imports and re-exports at the beginnings of lines lead that are not of types alone. */
function specifiersIn(text: string): string[] {
  const found: string[] = [];
  let words: string[] | undefined;
  for (const line of text.split('\n')) {
    if (/^(?:import|export)\s/.test(line)) words = [];
    if (words === undefined) continue;
    const end = line.search(/['";]/);
    words.push(...(end < 0 ? line : line.slice(0, end)).split(/\s+/).filter(Boolean));
    if (end < 0) continue;
    const isImport = words.length === 1 || words.at(-1) === 'from';
    if (isImport && words[1] !== 'type' && line[end] === "'") found.push(line.slice(end + 1).split("'", 1)[0]!);
    words = undefined;
  }
  return found;
}

/** `@scope/name` or `name`, of a specifier that may go deeper. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/**
 * The files that are in the bundle of these entry points, relative to `root` and sorted: the modules that they import,
 * directly or not, and the manifest of each package among them, which represents its version. Imports of types leave no
 * trace in a bundle.
 */
export async function bundleSources(root: string, entries: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    if (found.has(path)) return;
    found.add(path);
    const text = await readFile(join(root, path), 'utf8');
    for (const specifier of specifiersIn(text)) {
      if (specifier.startsWith('.')) await visit(normalize(join(dirname(path), specifier)));
      else if (!specifier.startsWith('node:')) found.add(join('node_modules', packageOf(specifier), 'package.json'));
    }
  };
  for (const entry of entries) await visit(entry);
  return [...found].sort();
}
