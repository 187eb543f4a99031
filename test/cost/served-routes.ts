import { Connection } from '@temporalio/client';
import { buildApp } from '../../api/app.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { openServices, readEnv } from '../../src/services.ts';

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
  const env = readEnv({ DATABASE_URL: 'postgresql://127.0.0.1/none', TEMPORAL_ADDRESS: '127.0.0.1:1' });
  const services = await openServices(env, openLog('silent', 'routes'), { connection: Connection.lazy() });
  try {
    const { routes } = buildApp(services, { version: '0', commit: 'none' });
    const served = routes
      // The others are what comes before a handler.
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => ({ method, path: inBraces(path), endpoint: `${method} ${inBraces(path)}` }));
    return [...new Map(served.map((route) => [route.endpoint, route])).values()];
  } finally {
    await services.close();
  }
}
