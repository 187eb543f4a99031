// The program of the tool server `sqlite`: a process of its own serves one database of one tenant. It imports nothing of
// the product.
import { constants, DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { isOneStatement } from './one-statement.ts';

const maxRows = 200;
const maxBytes = 256 * 1024;
/** Memory for pages, and for the other needs of statements. */
const heapBytes = 64 * 1024 * 1024;
const pageBytes = 4_096;
/** The environment of the tenant decides; this is the limit of the smallest one. */
const defaultMaxBytes = 10 * 1024 * 1024;
const maxBytesKey = 'atelier/max-bytes';

/** The allowed PRAGMAs: those that describe the database. */
const pragmas = new Set([
  'table_info',
  'table_xinfo',
  'table_list',
  'index_list',
  'index_info',
  'index_xinfo',
  'foreign_key_list',
  'foreign_key_check',
  'integrity_check',
  'quick_check',
  'page_count',
  'page_size',
  'freelist_count',
  'user_version',
  'encoding',
  'compile_options',
  'function_list',
  'collation_list',
]);

/**
 * Refused: other databases, and transactions of more than one statement. A reading transaction would block all writers
 * for as long as this process lives, and another process may serve the next call.
 */
const forbidden: ReadonlySet<number> = new Set([
  constants.SQLITE_ATTACH,
  constants.SQLITE_DETACH,
  constants.SQLITE_TRANSACTION,
  constants.SQLITE_SAVEPOINT,
]);
const forbiddenFunctions = new Set(['load_extension', 'fts3_tokenizer', 'writefile', 'readfile', 'edit']);

/** SQLite itself calls this while it prepares a statement, so that no spelling evades it. */
function authorize(action: number, first: string | null, second: string | null): number {
  if (forbidden.has(action)) return constants.SQLITE_DENY;
  if (action === constants.SQLITE_PRAGMA && !pragmas.has((first ?? '').toLowerCase())) return constants.SQLITE_DENY;
  if (action === constants.SQLITE_FUNCTION && forbiddenFunctions.has((second ?? '').toLowerCase())) {
    return constants.SQLITE_DENY;
  }
  return constants.SQLITE_OK;
}

const [path = ''] = process.argv.slice(2);

/** Limits of SQLite itself: the length of one value, and no other database, which also prevents VACUUM. */
const limits = { length: 8 * 1024 * 1024, sqlLength: 100_000, attach: 0, exprDepth: 200, likePatternLength: 1_000 };

function openDatabase(readOnly: boolean): DatabaseSync {
  const database = new DatabaseSync(path, { allowExtension: false, timeout: 2_000, limits });
  database.exec(`pragma hard_heap_limit = ${heapBytes}; pragma cache_size = -8192; pragma temp_store = memory;`);
  database.exec('pragma trusted_schema = off; pragma cell_size_check = on; pragma foreign_keys = on;');
  if (readOnly) database.exec('pragma query_only = on');
  else setMaxBytes(database, defaultMaxBytes);
  database.setAuthorizer(authorize);
  return database;
}

function setMaxBytes(database: DatabaseSync, bytes: number): void {
  database.setAuthorizer(null);
  database.exec(`pragma max_page_count = ${Math.max(1, Math.floor(bytes / pageBytes))}`);
  database.setAuthorizer(authorize);
}

// A new database gives pages back to the system when rows are deleted.
const writer = new DatabaseSync(path);
writer.exec(`pragma page_size = ${pageBytes}; pragma auto_vacuum = full; pragma journal_mode = delete;`);
writer.exec('pragma user_version');
writer.close();
const databases = { read: openDatabase(true), write: openDatabase(false) };

const written = (value: unknown): unknown => {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return value instanceof Uint8Array ? `[${value.length} bytes]` : value;
};

/** Reads rows up to the limits of rows and of bytes. */
function readRows(database: DatabaseSync, sql: string, ...values: SQLInputValue[]) {
  const statement = database.prepare(sql);
  statement.setReadBigInts(true);
  const rows: Record<string, unknown>[] = [];
  let bytes = 0;
  let truncated = false;
  for (const row of statement.iterate(...values)) {
    const plain = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, written(value)]));
    bytes += JSON.stringify(plain).length;
    truncated = rows.length >= maxRows || bytes > maxBytes;
    if (truncated) break;
    rows.push(plain);
  }
  return { rows, truncated };
}

const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
const failure = (message: string) => ({ content: [{ type: 'text' as const, text: message }], isError: true });

const attempt = (work: () => unknown) => {
  try {
    return text(work());
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  }
};

/** @throws Error when there is anything but one statement */
function requireOne(sql: string): string {
  if (!isOneStatement(sql)) throw new Error('Expected one statement.');
  return sql;
}

const server = new McpServer({ name: 'sqlite', version: '1' });
const sql = z.string().min(1).max(100_000);
const reads = { readOnlyHint: true, openWorldHint: false };

server.registerTool(
  'list_tables',
  { description: 'List the tables and views.', inputSchema: z.object({}), annotations: reads },
  () =>
    attempt(() =>
      readRows(
        databases.read,
        "select name, type from sqlite_schema where type in ('table', 'view') and name not like 'sqlite_%' order by name",
      ),
    ),
);
server.registerTool(
  'describe_table',
  {
    description: 'List the columns of a table.',
    inputSchema: z.object({ table: z.string().max(200) }),
    annotations: reads,
  },
  ({ table }) =>
    attempt(() => {
      const { rows } = readRows(
        databases.read,
        'select name, type, "notnull", dflt_value, pk from pragma_table_info(?)',
        table,
      );
      if (rows.length === 0) throw new Error('There is no table of this name.');
      return { columns: rows };
    }),
);
server.registerTool(
  'query',
  {
    description: `Run one statement that reads. Gives at most ${maxRows} rows.`,
    inputSchema: z.object({ sql }),
    annotations: reads,
  },
  ({ sql: given }) => attempt(() => readRows(databases.read, requireOne(given))),
);
server.registerTool(
  'execute',
  {
    description: 'Run one statement that changes data or tables.',
    inputSchema: z.object({ sql }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  },
  ({ sql: given }, context) =>
    attempt(() => {
      const maxDatabaseBytes = (context.mcpReq._meta as Record<string, unknown> | undefined)?.[maxBytesKey];
      if (typeof maxDatabaseBytes === 'number') setMaxBytes(databases.write, maxDatabaseBytes);
      const { changes } = databases.write.prepare(requireOne(given)).run();
      return { changes: Number(changes) };
    }),
);

await server.connect(new StdioServerTransport());
// The parent process has ended when the input ends.
process.stdin.on('end', () => process.exit(0));
