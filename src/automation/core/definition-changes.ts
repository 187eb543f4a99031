import { shortened } from '../../platform/core/shortened.ts';

/** Paths that a version names; it may have changed in more places. */
const maxChanges = 50;
/** As in `steps.3.payload.text`: what differs deeper is named by the path above it. */
const maxDepth = 6;
/** Characters of a member's name in a path: many paths may have the same long name. */
const maxName = 40;
/** Characters of a path. A hundred versions with fifty of them are one answer. */
const maxPath = 120;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Whether two JSON values are equal, the order of members apart. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && isSameJson(one[name], other[name]));
}

/**
 * Where two definitions differ, as dotted paths such as `steps.1.prompt`. Members without a value are the same as none.
 * @returns at most 50 of them; none for definitions that are the same
 */
export function findChanges(before: object, after: object): string[] {
  const found: string[] = [];
  const look = (one: unknown, other: unknown, path: string[]): void => {
    if (found.length >= maxChanges || isSameJson(one, other)) return;
    const isAlike = isObject(one) && isObject(other) && Array.isArray(one) === Array.isArray(other);
    if (!isAlike || path.length >= maxDepth) {
      found.push(shortened(path.join('.'), maxPath));
      return;
    }
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
      look(one[name] ?? null, other[name] ?? null, [...path, shortened(name, maxName)]);
    }
  };
  look(before, after, []);
  return found;
}
