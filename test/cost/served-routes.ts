import { composeApp } from '../api/app-without-process.ts';

/** A route that the API serves: what the router has, and not only what the document lists. */
export interface ServedRoute {
  /** `METHOD path` with parameters in braces. */
  endpoint: string;
  method: string;
  path: string;
}

const inBraces = (path: string) => path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, '{$1}');

/** Every route of the API, read from its router without any server. */
export async function servedRoutes(): Promise<ServedRoute[]> {
  const { app, services } = await composeApp();
  await services.close();
  const served = app.routes
    // The others are what comes before a handler.
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({ method, path: inBraces(path), endpoint: `${method} ${inBraces(path)}` }));
  return [...new Map(served.map((route) => [route.endpoint, route])).values()];
}
