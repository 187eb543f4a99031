import pg, { type ClientBase } from 'pg';
import { EnvError } from '../env.ts';

/** The first version with uuidv7(), which makes the ids of rows. */
const oldestMajor = 18;

/**
 * Refuses a server on which statements would fail later, one by one.
 * @throws EnvError when the server is too old; what the driver throws when it does not answer
 */
export async function requireServerVersion(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ server_version: string }>('show server_version');
  const { server_version: version } = rows[0]!;
  if (Number.parseInt(version, 10) >= oldestMajor) return;
  throw new EnvError(`Atelier needs PostgreSQL ${oldestMajor} or newer. This server is PostgreSQL ${version}.`);
}

/** The same on a connection of its own: an older server may lack the roles that the product connects in. */
export async function requireServerVersionAt(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'atelier',
    connectionTimeoutMillis: 10_000,
    query_timeout: 10_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await requireServerVersion(client);
  } finally {
    await client.end().catch(() => {});
  }
}
