import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import pg from 'pg';
import { pino } from 'pino';
import { Scope } from '../../src/platform/database/scope.ts';
import { statement } from '../../src/platform/database/sql.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { egressRules } from '../../src/platform/egress/egress-destination.ts';
import { newId } from '../../src/platform/ids.ts';
import { auditParameters, auditSql } from '../../src/platform/security/audit.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import { openProductDatabase } from '../../src/services.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { ToolConnections } from '../../src/tools/connections.ts';
import { toolLimits } from '../../src/tools/limits.ts';
import { connectionOpener } from '../../src/tools/open-connection.ts';
import { ToolLocks } from '../../src/tools/tool-locks.ts';
import { Tools } from '../../src/tools/tools.ts';
import { interleave } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { timeAlone } from '../load.ts';

const bare = 'bare MCP client';
const calls = { count: 200 };
const content = 'A lighthouse. '.repeat(300);

const table = `create schema bench; grant usage on schema bench to atelier_tenant;
  create table bench.tool_result (organization_id uuid, environment text, result text);
  grant insert on bench.tool_result to atelier_tenant`;
const insert = 'insert into bench.tool_result values ($1::uuid, $2::text, $3::text)';
const keep = statement({
  name: 'bench.keep_result',
  parameters: { result: 'text', ...auditParameters },
  text: `with kept as (insert into bench.tool_result values (:organizationId, :environment, :result)) select ${auditSql}`,
});

/**
 * P20: a call of a tool with its lock and its limits, compared with the call alone on the same program; then with its
 * commits: its result, and for the product also its audit entry, as chat and steps of workflows do it.
 */
export const toolCalls: Item = {
  name: 'P20',
  title: 'tool call: filesystem_read_text_file, 4 KiB',
  needs: 'stand',
  async run(stand, cleanup) {
    const folder = await mkdtemp(join(tmpdir(), 'atelier-bench-tools-'));
    const database = await openProductDatabase(stand.databaseUrl, 4);
    const log = pino({ level: 'silent' });
    const egress = new Egress(egressRules({ NODE_ENV: 'development' }));
    const connections = new ToolConnections({ open: connectionOpener({ folder, egress }), limits: toolLimits, log });
    const locks = new ToolLocks(stand.databaseUrl);
    const sealer = new Sealer(undefined);
    const tools = new Tools({ connections, locks, limits: toolLimits, log, egress, sealer });
    const program = join(
      import.meta.dirname,
      '../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
    );
    const client = new Client({ name: 'bench', version: '1' });
    const bareDatabase = new pg.Client({ connectionString: stand.databaseUrl });
    let isClosed = false;
    const close = async () => {
      if (isClosed) return;
      isClosed = true;
      await Promise.all([connections.close(), locks.close(), client.close(), bareDatabase.end(), egress.close()]);
      await database.close();
      await rm(folder, { recursive: true });
    };
    cleanup.add(close);
    await bareDatabase.connect();
    await bareDatabase.query(table);
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [program, folder], stderr: 'ignore' }),
    );
    const { id } = await createOrganization(database, { name: 'Bench', plan: 'team' });
    const organizationId = organizationIds.parse(id)!;
    const scope = new Scope(database, { organizationId, environment: 'test' }, newId());
    const ask = (tool: string, args: Record<string, unknown>) =>
      tools.call(
        scope,
        { server: 'filesystem', tool, args, callId: 'bench', attempt: 1, key: newId() },
        AbortSignal.timeout(60_000),
      );
    await ask('write_file', { path: '/note', content });
    await client.callTool({ name: 'write_file', arguments: { path: join(folder, 'note'), content } });
    const product = async () => {
      const called = await ask('read_text_file', { path: '/note' });
      if (called.result.text !== content) throw new Error(`The product read: ${called.result.text.slice(0, 200)}`);
      return called;
    };
    const alone = () => client.callTool({ name: 'read_text_file', arguments: { path: join(folder, 'note') } });
    const productKept = async () => {
      const { result, entry } = await product();
      await scope.rows(keep, { result: result.text, ...scope.auditValues(entry) });
    };
    const aloneKept = async () => {
      const { content: parts } = await alone();
      const values = [organizationId, 'test', (parts as { text: string }[])[0]!.text];
      await bareDatabase.query({ name: 'insert', text: insert, values });
    };
    const measure = async (what: string, bareWork: () => Promise<unknown>, work: () => Promise<unknown>) => {
      const side = (name: string, one: () => Promise<unknown>) => {
        const round = () => timeAlone(one, calls);
        return { name, warmUp: round, round };
      };
      const measured = await interleave(stand.meter, 5, [side(bare, bareWork), side('product', work)]);
      return compare('ms', what, measured, { [bare]: { atMost: 1.5 } });
    };
    const findings = [
      await measure('a call', alone, product),
      await measure('a call that is recorded', aloneKept, productKept),
    ];
    await close();
    return findings;
  },
};
