import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { Egress, type EgressOptions } from '../../src/platform/egress/egress.ts';
import { egressRules } from '../../src/platform/egress/egress-destination.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import type { Environment } from '../../src/platform/tenant.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import type { ConfigurationChange } from '../../src/tools/check-configuration.ts';
import { putToolServer } from '../../src/tools/configurations.ts';
import { ToolConnections } from '../../src/tools/connections.ts';
import { isToolServerId } from '../../src/tools/core/server-ids.ts';
import { serverOfName } from '../../src/tools/core/tool-names.ts';
import type { ToolResult } from '../../src/tools/core/tool-result.ts';
import { type ToolLimits, toolLimits } from '../../src/tools/limits.ts';
import { connectionOpener } from '../../src/tools/open-connection.ts';
import { ToolLocks } from '../../src/tools/tool-locks.ts';
import { Tools } from '../../src/tools/tools.ts';
import { secrets } from '../operator.ts';
import { createTestDatabase, openTestDatabase } from '../test-database.ts';

/** One process of the product, as far as tools go: several share a database and a folder. */
export interface ToolProcess {
  tools: Tools;
  connections: ToolConnections;
  locks: ToolLocks;
  /** Calls a tool by its declared name. */
  call(scope: Scope, name: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult>;
}

/** Tools on a database of the test's own, without a process of the product. */
export interface ToolScene {
  database: Database;
  databaseUrl: string;
  folder: string;
  newTenant(environment?: Environment): Promise<Scope>;
  open(limits?: Partial<ToolLimits>, egressOptions?: EgressOptions): ToolProcess;
  configure(scope: Scope, server: string, change: ConfigurationChange): Promise<unknown>;
  close(): Promise<void>;
}

export async function openToolScene(): Promise<ToolScene> {
  const { url, drop } = await createTestDatabase();
  const database = await openTestDatabase(url);
  const folder = await mkdtemp(join(tmpdir(), 'atelier-tools-'));
  const sealer = new Sealer(secrets.SEALING_KEYS);
  const closing: (() => Promise<void>)[] = [];
  // 127.0.0.1 stands for the public; the rest of loopback is as closed as it is to the product.
  const rules = egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.1/32'] });
  const configurations = { sealer, egress: new Egress(rules) };
  return {
    database,
    databaseUrl: url,
    folder,
    async newTenant(environment = 'test') {
      const { id } = await createOrganization(database, { name: 'Tools', plan: 'team' });
      return new Scope(database, { organizationId: organizationIds.parse(id)!, environment }, 'tools-test');
    },
    open(limits, egressOptions) {
      const all = { ...toolLimits, ...limits };
      const log = pino({ level: 'silent' });
      const egress = new Egress(rules, egressOptions);
      const connections = new ToolConnections({ open: connectionOpener({ folder, egress }), limits: all, log });
      const locks = new ToolLocks(url);
      closing.push(async () => {
        await connections.close();
        await locks.close();
        await egress.close();
      });
      const tools = new Tools({ connections, locks, limits: all, log, egress, sealer });
      const call: ToolProcess['call'] = async (scope, name, args = {}, signal = AbortSignal.timeout(60_000)) => {
        const server = serverOfName(name);
        if (!server || !isToolServerId(server)) throw new Error(`${name} belongs to no server.`);
        const asked = { server, tool: name.slice(server.length + 1), args, callId: name, attempt: 1, key: name };
        const { result, entry } = await tools.call(scope, asked, signal);
        await scope.audit(entry);
        return result;
      };
      return { tools, connections, locks, call };
    },
    configure: (scope, server, change) => putToolServer(configurations, scope, server, change),
    async close() {
      await Promise.all(closing.map((close) => close()));
      await configurations.egress.close();
      await database.close();
      await drop();
      await rm(folder, { recursive: true });
    },
  };
}
