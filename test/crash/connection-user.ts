import { failPoint } from '../../src/connections/fail-points.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { armFailPoint } from '../../src/platform/parts/fail-points.ts';
import { openProductDatabase } from '../../src/services.ts';
import { openConnections } from '../connections/open-connections.ts';

// Handles a callback, or uses a connection, with the given fail point armed.
const { databaseUrl, where, providers, policy, query, tenant, connectionId } = JSON.parse(process.argv[2]!);
const database = await openProductDatabase(databaseUrl, 2);
const { connections } = openConnections(database, { providers, policy });
armFailPoint(where, failPoint.names);
if (query !== undefined) await connections.finish(new URLSearchParams(query), 'calendar');
else await connections.withAccessToken(new Scope(database, tenant, 'user'), connectionId, async () => {});
