import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Log } from '../src/platform/log.ts';
import type { Scope } from '../src/platform/scope.ts';
import type { Caller } from '../src/tenancy/caller.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Surface } from './surface.ts';

/** What middleware sets for handlers. */
export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    correlationId: string;
    clientAddress: string;
    log: Log;
    surface: Surface;
    dialect: Dialect;
    /** The JSON body as it was sent, where a route has one. */
    body: unknown;
    caller: Caller;
    scope: Scope;
  };
}

export type ApiContext = Context<ApiEnv>;
