import type { Socket } from 'node:net';
import pg from 'pg';
import type { Egress } from '../../platform/egress/egress.ts';
import { EgressFailure } from '../../platform/egress/egress-failure.ts';
import { failedResult, type ToolResult } from '../core/tool-result.ts';
import type { Secrets } from '../secrets.ts';
import { AnswerTooLarge, type JsonObject, type ListedTool, type ToolConnection, ToolFailure } from '../tool.ts';
import { postgresAddress } from './postgres-address.ts';
import { guardReading } from './read-guarded.ts';

const statementMs = 5_000;
const connectMs = 5_000;
const maxRows = 200;
const maxColumns = 200;
/** PostgreSQL's own names have at most 63 bytes. Each row of the result repeats them. */
const maxNameLength = 256;
const maxBytes = 1024 * 1024;
const watchEveryMs = 20;
const maxStatementLength = 100_000;

const queryTool: ListedTool = {
  tool: 'query',
  description: `Run one statement that reads, for at most ${statementMs / 1_000} s. Gives at most ${maxRows} rows.`,
  inputSchema: { type: 'object', properties: { sql: { type: 'string' } }, required: ['sql'] },
  idempotent: true,
};
const listTables: ListedTool = {
  tool: 'list_tables',
  description: 'List the tables and views, with their columns.',
  inputSchema: { type: 'object', properties: {} },
  idempotent: true,
};

const tablesSql = `select table_schema as schema, table_name as table,
    string_agg(column_name || ' ' || data_type, ', ' order by ordinal_position) as columns
  from information_schema.columns where table_schema not in ('pg_catalog', 'information_schema')
  group by 1, 2 order by 1, 2`;

const tooLong = `The statement took longer than ${statementMs / 1_000} s.`;

const tooWide = `The answer has more than ${maxColumns} columns, or a column's name is too long.`;

/** A value that the server declares as binary is a Buffer. */
const asText = (value: string | Buffer) => String(value);
const integer = (text: string) => Number.parseInt(text, 10);

/** By the type's OID: bool, int2, int4, oid, float4 and float8. */
const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => text === 't'],
  [21, integer],
  [23, integer],
  [26, integer],
  [700, Number.parseFloat],
  [701, Number.parseFloat],
]);

/**
 * Reads numbers and booleans. Other values, such as those of json and of lists, stay as PostgreSQL writes them: the server
 * is not ours, and reading them here would hold the process.
 */
const types = { getTypeParser: (oid: number) => parsers.get(oid) ?? asText } as pg.CustomTypesConfig;

/** A socket that is connected, for a client that wants to connect it itself. */
function connected(socket: Socket): Socket {
  socket.connect = () => {
    process.nextTick(() => socket.emit('connect'));
    return socket;
  };
  return socket;
}

/** Reads rows of one statement up to the limit; what follows is not waited for. */
function readRows(client: pg.Client, sql: string): Promise<{ rows: JsonObject[]; truncated: boolean }> {
  return new Promise((resolve, reject) => {
    const rows: JsonObject[] = [];
    // The extended protocol takes one statement.
    const query = client.query(new pg.Query({ text: sql, queryMode: 'extended' } as pg.QueryConfig));
    query.on('row', (row: JsonObject, result) => {
      const fields = result?.fields ?? [];
      if (rows.length === maxRows) resolve({ rows, truncated: true });
      else if (fields.length <= maxColumns && fields.every(({ name }) => name.length <= maxNameLength)) rows.push(row);
      else reject(new ToolFailure(tooWide));
    });
    query.on('end', () => resolve({ rows, truncated: false }));
    query.on('error', reject);
  });
}

/** In a transaction that cannot write: `select 1` makes that final. */
async function askOn(client: pg.Client, sql: string) {
  await client.connect();
  await client.query(`begin read only; set local statement_timeout = ${statementMs}; select 1`);
  return readRows(client, sql);
}

/** The connection itself: that of TLS, once there is one. */
const streamOf = (client: pg.Client): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

/**
 * A database of the organization's own. Each call has a connection of its own: over TLS, to addresses that the egress guard
 * permits, and in a transaction that cannot write. What else the login may do is for its owner to decide.
 */
export class PostgresConnection implements ToolConnection {
  readonly isOpen = true;
  readonly #secrets: Secrets;
  readonly #egress: Pick<Egress, 'dial'>;

  constructor(secrets: Secrets, egress: Pick<Egress, 'dial'>) {
    this.#secrets = secrets;
    this.#egress = egress;
  }

  async list(): Promise<ListedTool[]> {
    return [queryTool, listTables];
  }

  async call(tool: string, { sql }: JsonObject, signal: AbortSignal): Promise<ToolResult> {
    if (tool === listTables.tool) return this.#read(tablesSql, signal);
    if (tool !== queryTool.tool) return failedResult(`There is no tool ${tool}.`);
    if (typeof sql !== 'string' || sql.trim() === '' || sql.length > maxStatementLength) {
      return failedResult(`sql: expected 1 to ${maxStatementLength} characters.`);
    }
    return this.#read(sql, signal);
  }

  async close(): Promise<void> {}

  async #read(sql: string, signal: AbortSignal): Promise<ToolResult> {
    const address = postgresAddress(this.#secrets.dsn ?? '');
    if (typeof address === 'string') return failedResult('The connection string cannot be read.');
    const over = Promise.withResolvers<never>();
    over.promise.catch(() => {});
    const abort = () => over.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const late = setTimeout(() => over.reject(new ToolFailure(tooLong)), connectMs + statementMs + 1_000);
    let client: pg.Client | undefined;
    // The server is not ours: its data is counted as it arrives.
    const watch = setInterval(() => {
      if (client && streamOf(client).bytesRead > maxBytes) over.reject(new AnswerTooLarge(maxBytes));
    }, watchEveryMs);
    try {
      signal.throwIfAborted();
      client = this.#clientOn(await this.#egress.dial(address.host, address.port, connectMs), address);
      const asked = askOn(client, sql);
      // It may fail when its caller no longer waits.
      asked.catch(() => {});
      return { text: JSON.stringify(await Promise.race([asked, over.promise])), isError: false };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ToolFailure) return failedResult(error.message);
      if (error instanceof EgressFailure) return failedResult(`The database cannot be reached: ${error.message}`);
      // What PostgreSQL says is for the model; what happens to the connection names no addresses either.
      if (error instanceof Error && 'severity' in error) return failedResult(error.message);
      return failedResult(`The connection to the database failed (${(error as { code?: string }).code ?? 'unknown'}).`);
    } finally {
      clearTimeout(late);
      clearInterval(watch);
      signal.removeEventListener('abort', abort);
      // Ending it in order would wait for a server that may not answer.
      if (client) streamOf(client).destroy();
    }
  }

  #clientOn(
    socket: Socket,
    { host, port, user, password, database }: Exclude<ReturnType<typeof postgresAddress>, string>,
  ) {
    const { ca } = this.#secrets;
    const client = new pg.Client({
      host,
      port,
      user,
      // A function, because pg would look for another password where this one is empty: for the operator's.
      password: () => password,
      database,
      application_name: 'atelier',
      types,
      // The certificate must name the host.
      ssl: { host, rejectUnauthorized: true, ...(ca !== undefined && { ca }) },
      stream: () => connected(socket),
      connectionTimeoutMillis: connectMs,
      options: `-c statement_timeout=${statementMs} -c default_transaction_read_only=on`,
    });
    client.on('error', () => {});
    guardReading(client, maxBytes);
    return client;
  }
}
