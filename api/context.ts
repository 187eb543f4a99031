import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { SignedIn } from '../src/accounts/sessions.ts';
import type { Scope } from '../src/platform/database/scope.ts';
import type { Log } from '../src/platform/observability/log.ts';
import type { Caller } from '../src/tenancy/caller.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Surface } from './surface.ts';

/** What middleware sets for handlers. */
export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    correlationId: string;
    /** The log of the process; `requestLog` gives that of the request. */
    log: Log;
    /** The address of the client, computed on first use. */
    clientAddress: () => string;
    surface: Surface;
    dialect: Dialect;
    /** The JSON body as it was sent, where a route has one. */
    body: unknown;
    caller: Caller;
    /** The signed-in person, on routes that belong to a person and to no organization. */
    person: SignedIn;
    scope: Scope;
    /** To be called by a read that goes on to wait for something; see `ReadSlots`. */
    releaseSlot: () => void;
    /** The code of the failure of the run that the answer reports. */
    failedRun?: string;
  };
}

export type ApiContext = Context<ApiEnv>;
