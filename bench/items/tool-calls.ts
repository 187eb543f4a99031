import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { pino } from 'pino';
import { Sealer } from '../../src/platform/crypto.ts';
import { Egress } from '../../src/platform/egress.ts';
import { egressRules } from '../../src/platform/egress-destination.ts';
import { newId } from '../../src/platform/ids.ts';
import { Scope } from '../../src/platform/scope.ts';
import { openProductDatabase } from '../../src/services.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { ToolConnections } from '../../src/tools/connections.ts';
import { toolLimits } from '../../src/tools/limits.ts';
import { connectionOpener } from '../../src/tools/open-connection.ts';
import { Tools } from '../../src/tools/tools.ts';
import { ToolTurns } from '../../src/tools/turns.ts';
import { interleave } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { timeAlone } from '../load.ts';

const bare = 'bare MCP client';
const calls = { count: 200 };
const content = 'A lighthouse. '.repeat(300);

/** P20: a call of a tool with its turn, its limits and its audit entry, beside the call alone on the same program. */
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
    const turns = new ToolTurns(stand.databaseUrl);
    const sealer = new Sealer(undefined);
    const tools = new Tools({ connections, turns, limits: toolLimits, log, egress, sealer });
    const program = join(
      import.meta.dirname,
      '../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
    );
    const client = new Client({ name: 'bench', version: '1' });
    let isClosed = false;
    const close = async () => {
      if (isClosed) return;
      isClosed = true;
      await Promise.all([connections.close(), turns.close(), client.close(), egress.close()]);
      await database.close();
      await rm(folder, { recursive: true });
    };
    cleanup.add(close);
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [program, folder], stderr: 'ignore' }),
    );
    const { id } = await createOrganization(database, { name: 'Bench', plan: 'team' });
    const organizationId = organizationIds.parse(id)!;
    const scope = new Scope(database, { organizationId, environment: 'test' }, newId());
    const ask = (tool: string, args: Record<string, unknown>) =>
      tools.call(scope, { server: 'filesystem', tool, args, callId: 'bench' }, AbortSignal.timeout(60_000));
    await ask('write_file', { path: '/note', content });
    await client.callTool({ name: 'write_file', arguments: { path: join(folder, 'note'), content } });
    const product = async () => {
      const { text } = await ask('read_text_file', { path: '/note' });
      if (text !== content) throw new Error(`The product read: ${text.slice(0, 200)}`);
    };
    const alone = async () => {
      await client.callTool({ name: 'read_text_file', arguments: { path: join(folder, 'note') } });
    };
    const side = (name: string, work: () => Promise<void>) => {
      const round = () => timeAlone(work, calls);
      return { name, warmUp: round, round };
    };
    const measured = await interleave(stand.meter, 5, [side(bare, alone), side('product', product)]);
    await close();
    return [compare('ms', 'a call', measured, { [bare]: { atMost: 1.5 } })];
  },
};
