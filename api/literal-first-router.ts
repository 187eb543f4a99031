import type { Result, Router } from 'hono/router';
import { RegExpRouter } from 'hono/router/reg-exp-router';

interface Route<T> {
  method: string;
  path: string;
  handler: T;
}

interface Routers<T> {
  /** Paths without parameters. */
  literal: RegExpRouter<T>;
  literalPaths: ReadonlySet<string>;
  /** Paths below a literal beginning in the place of a parameter of other paths; the longest beginning is first. */
  nested: [beginning: string, RegExpRouter<T>][];
  others: RegExpRouter<T>;
}

const isWildcard = ({ path }: { path: string }) => path.includes('*');
const hasParameter = ({ path }: { path: string }) => path.includes('/:');
const isParameter = (segment: string | undefined) => segment?.startsWith(':') ?? false;

/** The segments in front of a path's first parameter. */
const beginningOf = (path: string): string[] => {
  const segments = path.split('/');
  return segments.slice(0, segments.findIndex(isParameter));
};

/**
 * Whether another path has a parameter where this beginning has a literal. @param places the beginnings before
 * parameters
 */
const standsBesideParameter = (beginning: readonly string[], places: ReadonlySet<string>): boolean =>
  beginning.some((_, at) => places.has(beginning.slice(0, at).join('/')));

/**
 * Hono's fastest router, several times: for paths without parameters, for paths below a literal in the place of a
 * parameter of other paths, and for all others. A single one refuses `/calendars/connect` beside `/calendars/:id`, and
 * Hono would then use a slower router for every request. A literal path is never an id, as in OpenAPI.
 */
export class LiteralFirstRouter<T> implements Router<T> {
  name = 'LiteralFirstRouter';
  readonly #routes: Route<T>[] = [];
  #routers: Routers<T> | undefined;

  /** @param path middleware stands at a path with a wildcard, or at one without parameters */
  add(method: string, path: string, handler: T): void {
    if (this.#routers) throw new Error('Routes are added before the first request.');
    this.#routes.push({ method, path, handler });
  }

  match(method: string, path: string): Result<T> {
    this.#routers ??= this.#build();
    const { literal, literalPaths, nested, others } = this.#routers;
    if (literalPaths.has(path)) return literal.match(method, path);
    const found = nested.find(([beginning]) => path.startsWith(beginning));
    return (found?.[1] ?? others).match(method, path);
  }

  #build(): Routers<T> {
    const all = this.#routes;
    const withParameters = all.filter(hasParameter);
    const beginnings = new Map(withParameters.map(({ path }) => [path, beginningOf(path)]));
    const beforeParameters = new Set(Array.from(beginnings.values(), (beginning) => beginning.join('/')));
    const placeOf = ({ path }: Route<T>) => {
      const beginning = beginnings.get(path)!;
      return standsBesideParameter(beginning, beforeParameters) ? `${beginning.join('/')}/` : '';
    };
    const places = new Map(withParameters.map((route) => [route, placeOf(route)]));
    const open = (isIn: (route: Route<T>) => boolean) => {
      const router = new RegExpRouter<T>();
      // Middleware runs in the order in which it was added, wherever the path is found.
      for (const route of all) {
        if (isWildcard(route) || isIn(route)) router.add(route.method, route.path, route.handler);
      }
      return router;
    };
    const isLiteral = (route: Route<T>) => !isWildcard(route) && !hasParameter(route);
    const nested = [...new Set(places.values())].filter((place) => place !== '');
    return {
      literal: open(isLiteral),
      literalPaths: new Set(all.filter(isLiteral).map(({ path }) => path)),
      nested: nested
        .toSorted((one, other) => other.length - one.length)
        .map((place) => [place, open((route) => places.get(route) === place)]),
      others: open((route) => places.get(route) === ''),
    };
  }
}
