import { posix } from 'node:path';
import type { JsonObject } from '../tool.ts';

const maxPathLength = 1_024;
const deepest = 32;

/** Arguments of the filesystem server that are paths. */
const pathArguments = ['path', 'paths', 'source', 'destination'];

/**
 * The path below the root for a shown path. `..` ends at the root.
 * @returns undefined for a text that is no path
 */
export function toReal(root: string, shown: unknown): string | undefined {
  if (typeof shown !== 'string' || shown.length > maxPathLength || shown.includes('\0')) return undefined;
  const path = posix.normalize(`/${shown}`).replace(/\/$/, '');
  return path.split('/').length > deepest ? undefined : `${root}${path}`;
}

/** @returns the arguments with real paths, or what is wrong with them */
export function withRealPaths(root: string, args: JsonObject): JsonObject | string {
  const real: JsonObject = { ...args };
  for (const name of pathArguments) {
    const given = args[name];
    if (given === undefined) continue;
    const paths = Array.isArray(given) ? given.map((path) => toReal(root, path)) : toReal(root, given);
    if (paths === undefined || (Array.isArray(paths) && paths.includes(undefined))) {
      return `${name}: expected a path of at most ${maxPathLength} characters and ${deepest} folders.`;
    }
    real[name] = paths;
  }
  return real;
}

/** Shows the root as `/`, and no other paths of the machine. */
export const withShownPaths =
  (root: string, hidden: readonly string[]) =>
  (text: string): string =>
    hidden
      .reduce((shown, path) => shown.replaceAll(path, ''), text.replaceAll(`${root}/`, '/').replaceAll(root, '/'))
      .replaceAll(/\bfile:\/\/(?=\/)/g, '');
