import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Tenant } from '../../platform/tenant.ts';
import { connectMcp } from '../mcp-connection.ts';
import type { JsonObject, ToolConnection } from '../tool.ts';
import { ProcessTransport } from './process-transport.ts';
import { makeRoot, type Root, room, sizeOf, usageOf } from './root.ts';
import { type ProcessLimits, ServerProcess } from './server-process.ts';
import { withRealPaths, withShownPaths } from './shown-paths.ts';

type LocalProgram = 'filesystem' | 'memory' | 'sqlite';

interface LocalServer {
  /** With the roots of all tenants. */
  folder: string;
  program: LocalProgram;
  tenant: Tenant;
}

const here = dirname(fileURLToPath(import.meta.url));
const project = resolve(here, '../../..');
const packages = join(project, 'node_modules');

const limits: Omit<ProcessLimits, 'fileBytes'> = { heapMb: 96, residentMb: 320, cpuSeconds: 300, openFiles: 64 };

/** The graph is read and written as a whole by each call. */
const maxMemoryFileBytes = 1024 * 1024;
/** Read by sqlite-server.ts. */
const maxBytesKey = 'atelier/max-bytes';

/** After as many calls a process is replaced, long before its processor time is used up. */
const maxCalls = 500;

const memoryFile = ({ folder }: Root) => join(folder, 'memory.jsonl');

function programOf(program: LocalProgram, root: Root) {
  const { folder } = root;
  const installed = (name: string) => join(packages, '@modelcontextprotocol', name, 'dist/index.js');
  if (program === 'filesystem') return { module: installed('server-filesystem'), args: [folder], env: {} };
  if (program === 'memory') {
    return { module: installed('server-memory'), args: [], env: { MEMORY_FILE_PATH: memoryFile(root) } };
  }
  return { module: join(here, 'sqlite-server.ts'), args: [join(folder, 'database.sqlite')], env: {} };
}

/** Tools that add nothing. */
const harmless = /^(read_|list_|get_|search_|directory_|open_nodes$|delete_|move_file$|query$|describe_)/;
/** The bytes of a file besides its content. */
const entryBytes = 4_096;

/** The preparation of calls of one server of a tenant: its paths, and the check of free space for its writes. */
function preparation({ program, tenant }: LocalServer, root: Root) {
  const quota = room[tenant.environment];
  const full = `The organization's files have reached their limit of ${quota.bytes / 1024 / 1024} MiB and ${quota.files} files.`;
  return async (tool: string, given: JsonObject) => {
    const args = program === 'filesystem' ? withRealPaths(root.folder, given) : given;
    if (typeof args === 'string' || harmless.test(tool)) return typeof args === 'string' ? args : { args };
    const usage = await usageOf(root.ofTenant, quota.files);
    if (program === 'sqlite') {
      const others = usage.bytes - (await sizeOf(join(root.folder, 'database.sqlite')));
      return { args, meta: { [maxBytesKey]: Math.max(0, quota.bytes - others) } };
    }
    const bytes = Buffer.byteLength(JSON.stringify(given)) + entryBytes;
    const path = typeof given.path === 'string' ? given.path : '';
    const folders = tool === 'create_directory' ? path.split('/').length : 1;
    if (usage.bytes + bytes > quota.bytes || usage.files + folders > quota.files) return full;
    if (program === 'memory' && (await sizeOf(memoryFile(root))) + bytes > maxMemoryFileBytes) {
      return 'The memory is full. Delete entries that you no longer need.';
    }
    return { args };
  };
}

/** Starts the process of a server of one tenant. */
export async function openLocalServer(server: LocalServer, signal: AbortSignal): Promise<ToolConnection> {
  const { program, tenant } = server;
  const root = await makeRoot(server.folder, tenant, program);
  const started = await ServerProcess.start(
    {
      ...programOf(program, root),
      folder: root.folder,
      readable: [`${packages}/*`, `${here}/*`, join(project, 'package.json')],
      before: [join(here, 'no-network.ts')],
    },
    { ...limits, fileBytes: room[tenant.environment].bytes },
  );
  const transport = new ProcessTransport(started);
  let calls = 0;
  const prepare = preparation(server, root);
  const connection = await connectMcp(transport, signal, {
    prepare(tool, args) {
      calls++;
      return prepare(tool, args);
    },
    clean: withShownPaths(root.folder, [root.ofTenant, project]),
    isAlive: () => started.isAlive && calls < maxCalls,
  }).catch((error) => {
    started.kill();
    throw new Error(`The process did not become ready. It wrote: ${started.stderr}`, { cause: error });
  });
  return {
    list: (asked) => connection.list(asked),
    // Why the process was ended says more than that it has.
    call: (tool, args, asked) =>
      connection.call(tool, args, asked).catch((error) => {
        throw transport.failure ?? error;
      }),
    get isOpen() {
      return connection.isOpen;
    },
    close: () => connection.close(),
  };
}
