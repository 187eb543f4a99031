import type { Duplex } from 'node:stream';
import pg, { type Pool, type PoolClient, type QueryResultRow } from 'pg';
import type { Tenant } from '../tenant.ts';
import { TenantAssignment } from './pooled-connection.ts';
import { positioned, type Statement, type StatementText, type SystemArguments, watched } from './sql.ts';

/** Statements that are under way on one connection at most: the next one waits for those before it. */
const maxUsersOfConnection = 16;

/** Streams that collect writes until the callbacks of this iteration of the event loop have run. */
const collecting = new WeakSet<Duplex>();

/** Writes what several requests send in one iteration of the event loop together: a write, which wakes PostgreSQL, costs more than the rest of a read. */
function collect(stream: Duplex): void {
  if (collecting.has(stream)) return;
  collecting.add(stream);
  stream.cork();
  setImmediate(() => {
    collecting.delete(stream);
    stream.uncork();
  });
}

function ask<Row extends QueryResultRow>(
  client: PoolClient,
  { name, text }: Pick<StatementText, 'name' | 'text'>,
  values: unknown[],
): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const query = new pg.Query<Row>({ name, text, values, types: pg.types }, (error, result) => {
      if (error) reject(error);
      else resolve(result.rows);
    });
    const submit = query.submit.bind(query);
    query.submit = (connection) => {
      collect(connection.stream);
      submit(connection);
    };
    client.query(query);
  });
}

/** A connection of the pool, and its users. */
interface Lent {
  connecting: Promise<PoolClient>;
  /** Once it is connected. */
  client: PoolClient | undefined;
  assignment: TenantAssignment | undefined;
  users: number;
  isBroken: boolean;
}

/**
 * Connections that carry the reads of several requests at the same time, each a transaction of its own, in the order in
 * which they were sent. Only for statements that read a row by its key: a slow one delays the next ones. Taken from the
 * pool while there are readers, and then returned.
 */
export class SharedConnections {
  readonly #pool: Pool;
  readonly #lent = new Set<Lent>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async rows<Row extends QueryResultRow, Values>(
    tenant: Tenant,
    of: Statement<Row, Values>,
    ...values: SystemArguments<Values>
  ): Promise<Row[]> {
    const lent = this.#borrow();
    lent.users++;
    try {
      const client = await lent.connecting;
      lent.client = client;
      lent.assignment ??= new TenantAssignment(client);
      // There is no wait between the two: the connection keeps their order, and no other tenant comes between.
      const assigned = lent.assignment.assign(tenant, (config) => ask(client, config, config.values));
      const asked = ask<Row>(client, of, positioned(of, values));
      const [, rows] = await Promise.all([assigned, watched(of.name, () => asked)]);
      return rows;
    } catch (error) {
      // PostgreSQL reported it, about this statement alone. After anything else no statement begins on this connection.
      const isOfStatement = error instanceof Error && 'severity' in error && error.severity === 'ERROR';
      if (!isOfStatement || lent.assignment?.hasFailed) this.#giveUp(lent);
      throw error;
    } finally {
      lent.users--;
      if (lent.users === 0) this.#giveBack(lent);
    }
  }

  #borrow(): Lent {
    for (const lent of this.#lent) if (lent.users < maxUsersOfConnection) return lent;
    const connecting = this.#pool.connect();
    const lent: Lent = { connecting, client: undefined, assignment: undefined, users: 0, isBroken: false };
    this.#lent.add(lent);
    return lent;
  }

  #giveUp(lent: Lent): void {
    lent.isBroken = true;
    this.#lent.delete(lent);
  }

  #giveBack(lent: Lent): void {
    this.#lent.delete(lent);
    lent.assignment?.end();
    lent.client?.release(lent.isBroken);
  }
}
