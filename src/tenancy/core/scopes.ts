/** A permission of keys. A key has all of them by default. */
export interface DeclaredScope {
  name: string;
  /** The place in published lists. Scopes without one come last, in the order of the parts. */
  position?: number;
}

/** The scopes of all features by name, as published lists have them. */
export const orderedScopes = (scopes: readonly DeclaredScope[]): string[] =>
  scopes
    .toSorted((one, other) => (one.position ?? Number.MAX_SAFE_INTEGER) - (other.position ?? Number.MAX_SAFE_INTEGER))
    .map(({ name }) => name);
