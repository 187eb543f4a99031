import type { Database } from '../../src/platform/database/database.ts';
import { newId } from '../../src/platform/ids.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import type { Environment } from '../../src/platform/tenant.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { secrets } from '../operator.ts';

interface Given {
  /** In either form. */
  organizationId: string;
  environment: Environment;
  integration: string;
  accountId: string;
  /** A secret of the sandbox. */
  secret?: string;
}

/** Writes a connection as connecting an account would have, without tokens. @returns its id */
export async function addConnection(
  { pool }: Database,
  { environment, integration, accountId, secret, ...of }: Given,
): Promise<string> {
  const organizationId = organizationIds.parse(of.organizationId)!;
  const id = newId();
  const place = { table: 'integration_connection', column: 'sealed_sandbox_secret', rowId: id };
  const sealed =
    secret === undefined
      ? null
      : new Sealer(secrets.SEALING_KEYS).seal(secret, { ...place, tenant: { organizationId, environment } });
  await pool.query(
    `insert into integration_connection (id, organization_id, environment, integration, connection_id, account_id,
                                         account_name, details, status, sealed_sandbox_secret, connected_at)
     values ($1, $2, $3, $4, null, $5, $5, '{}', 'connected', $6, date_trunc('milliseconds', now()))`,
    [id, organizationId, environment, integration, accountId, sealed],
  );
  return id;
}
