import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Import {
  /** A file of the project, relative to its root, or a package or built-in by its name. */
  target: string;
  /** False for `import type`, which leaves no trace when the code runs. */
  value: boolean;
}

export interface SourceFile {
  path: string;
  text: string;
  lines: number;
  imports: Import[];
  isTest: boolean;
}

const importPattern = /^\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const dynamicPattern = /\bimport\(\s*'([^']+)'\s*\)/g;

const isRelative = (specifier: string) => specifier.startsWith('.');

function importsOf(path: string, text: string): Import[] {
  const resolve = (specifier: string) =>
    isRelative(specifier) ? normalize(join(dirname(path), specifier)) : specifier;
  const fixed = [...text.matchAll(importPattern)].map(([, type, specifier]) => ({
    target: resolve(specifier!),
    value: type === undefined,
  }));
  const dynamic = [...text.matchAll(dynamicPattern)].map(([, specifier]) => ({
    target: resolve(specifier!),
    value: true,
  }));
  return [...fixed, ...dynamic];
}

/** Sources that a generator wrote. */
const generated = 'sdk/typescript/src/generated/';

/** Every TypeScript file that git tracks or would track, with what it imports, but for generated ones. */
export function readSources(): SourceFile[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx', '*.mjs'],
    {
      cwd: root,
      encoding: 'utf8',
    },
  );
  return listed
    .split('\n')
    .filter((path) => path !== '' && !path.startsWith(generated) && existsSync(join(root, path)))
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      const isTest = /^(test|bench|docs)\//.test(path) || path.endsWith('.test.ts');
      return { path, text, lines: text.split('\n').length - 1, imports: importsOf(path, text), isTest };
    });
}

/** A path of files that import each other in a circle, types included, if there is one. */
export function findCycle(files: SourceFile[]): string[] | undefined {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): string[] | undefined => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const { target } of byPath.get(path)?.imports ?? []) {
      const cycle = byPath.has(target) ? visit(target, [...trail, path]) : undefined;
      if (cycle) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const { path } of files) {
    const cycle = visit(path, []);
    if (cycle) return cycle;
  }
  return undefined;
}

/** Everything that runs when this file is loaded: files of the project, packages and built-ins. */
export function reachable(files: SourceFile[], from: string[]): Set<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const found = new Set<string>();
  const queue = [...from];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    for (const { target, value } of byPath.get(path)?.imports ?? []) if (value) queue.push(target);
  }
  return found;
}
