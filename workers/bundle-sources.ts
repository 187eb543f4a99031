import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

/** An import or re-export at the beginning of a line: whether it is of types alone, and from where. */
const importPattern = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;

/** `@scope/name` or `name`, of a specifier that may go deeper. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/**
 * The files that are in the bundle of these entry points, relative to `root` and sorted: the modules that they import,
 * directly or not, and the manifest of each package among them, which stands for its version. Imports of types leave no
 * trace in a bundle.
 */
export async function bundleSources(root: string, entries: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    if (found.has(path)) return;
    found.add(path);
    const text = await readFile(join(root, path), 'utf8');
    for (const [, ofTypes, specifier] of text.matchAll(importPattern)) {
      if (ofTypes || !specifier) continue;
      if (specifier.startsWith('.')) await visit(normalize(join(dirname(path), specifier)));
      else if (!specifier.startsWith('node:')) found.add(join('node_modules', packageOf(specifier), 'package.json'));
    }
  };
  for (const entry of entries) await visit(entry);
  return [...found].sort();
}
