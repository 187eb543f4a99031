import type { ResourceId } from '../src/platform/core/ids.ts';
import type { Envelope } from './envelopes.ts';

/** How the API answers below certain paths, whether or not a route exists there. */
export interface Surface {
  /** The same routes are served below each of them. The first is the canonical one. */
  paths: readonly [string, ...string[]];
  /** The envelope of failures. */
  envelope: Envelope;
  /** Whether requests and answers come in dialects A and B. Without dialects X-API-Variant is ignored. */
  hasDialects: boolean;
  /**
   * Ids that may be in the path of a request with an Idempotency-Key. The two forms of an id name one resource, so that
   * a retry may use the other one.
   */
  ids: readonly ResourceId[];
}

const same = (one: Surface, other: Surface) =>
  one.paths.join() === other.paths.join() && one.envelope === other.envelope && one.hasDialects === other.hasDialects;

/** One surface for each path. @throws Error when two that share a path answer differently there */
function mergeByPath(surfaces: readonly Surface[]): Map<string, Surface> {
  const byPath = new Map<string, Surface>();
  for (const surface of surfaces) {
    for (const path of surface.paths) {
      const known = byPath.get(path);
      if (known && !same(known, surface)) throw new Error(`Two mounts at ${path} answer in different ways.`);
      byPath.set(path, known ? { ...known, ids: [...known.ids, ...surface.ids] } : surface);
    }
  }
  return byPath;
}

const isBelow = (path: string, prefix: string) => prefix === '/' || path === prefix || path.startsWith(`${prefix}/`);

export type FindSurface = (path: string) => Surface;

/** Finds the surface of a path: the one with the longest prefix of it. One of them must be at `/`. */
export function surfaceFinder(surfaces: readonly Surface[]): FindSurface {
  const sortedByLength = [...mergeByPath(surfaces)].toSorted(([one], [other]) => other.length - one.length);
  return (path) => {
    const found = sortedByLength.find(([prefix]) => isBelow(path, prefix));
    if (!found) throw new Error('No mount is at /.');
    return found[1];
  };
}

/** The path below the canonical prefix: `/v1/runs` is `/api/v1/runs`. */
export function canonicalPath({ paths }: Surface, path: string): string {
  const prefix = paths.find((one) => isBelow(path, one)) ?? paths[0];
  return paths[0] + path.slice(prefix.length);
}
