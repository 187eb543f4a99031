import type { Sealer } from '../platform/crypto.ts';
import type { Egress } from '../platform/egress.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { catalogue } from './catalogue.ts';
import { applyChange, type Configuration, type ConfigurationChange } from './check-configuration.ts';
import { isToolServerId, type ToolServerId, toolServerIds } from './core/server-ids.ts';
import type { ToolConfiguration } from './entities.ts';
import { openSecrets, sealedSecretsOf, sealSecrets } from './secrets.ts';

export interface ConfigurationServices {
  egress: Pick<Egress, 'checkDestination'>;
  sealer: Sealer;
}

/** A server of the catalogue, as one tenant has it. Secrets are only named. */
export interface ToolServerView {
  id: ToolServerId;
  name: string;
  description: string;
  /** Whether turns can name it. In the test environment each can. */
  configured: boolean;
  enabled: boolean;
  url: string | null;
  values: Record<string, string>;
  secrets: string[];
  /** Names of its functions; null where only the server knows them, and was not asked yet. */
  functions: string[] | null;
  /** Null where nothing was configured. */
  updatedAt: Date | null;
}

/** What is needed to reach a server, secrets included. */
export interface StoredConfiguration extends Configuration {
  id: string;
  /** Changes with the configuration: connections that were made before it are not used after it. */
  version: string;
}

type Row = Omit<ToolConfiguration, 'organizationId' | 'environment' | 'createdAt'>;

// Statements and not entities: operators' commands use them, each a process of its own that loads as little as it can.
const columns = `id, server, enabled, url, values, sealed_secrets as "sealedSecrets", secret_names as "secretNames", functions,
  updated_at as "updatedAt"`;
const ofTenant = 'organization_id = $1 and environment = $2';

const findAll = statement<Row>(
  'tool_configuration.list',
  `select ${columns} from tool_configuration where ${ofTenant}`,
);
const lockServer = statement<Row>(
  'tool_configuration.lock',
  `select ${columns} from tool_configuration where ${ofTenant} and server = $3 for update`,
);
const insert = statement<Row>(
  'tool_configuration.create',
  `insert into tool_configuration
     (organization_id, environment, id, server, enabled, url, values, sealed_secrets, secret_names, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7::json, $8, $9::jsonb, $10, $10) returning ${columns}`,
);
const change = statement<Row>(
  'tool_configuration.change',
  `update tool_configuration
      set enabled = $5, url = $6, values = $7::json, sealed_secrets = $8, secret_names = $9::jsonb, functions = null, updated_at = $10
    where ${ofTenant} and id = $3 and server = $4 returning ${columns}`,
);
const remove = statement('tool_configuration.remove', `delete from tool_configuration where ${ofTenant} and id = $3`);

function viewOf(scope: Scope, id: ToolServerId, row: Row | undefined): ToolServerView {
  const { name, description, functions, stubs } = catalogue[id];
  const isTest = scope.tenant.environment === 'test';
  const ofStubs = stubs?.map((stub) => stub.name);
  const known = isTest ? (ofStubs ?? functions) : ((row?.url ? undefined : functions) ?? row?.functions);
  return {
    id,
    name,
    description,
    configured: isTest || row !== undefined,
    enabled: row?.enabled ?? isTest,
    url: row?.url ?? null,
    values: row?.values ?? {},
    secrets: row?.secretNames ?? [],
    functions: known ? [...known] : null,
    updatedAt: row?.updatedAt ?? null,
  };
}

/** @throws AppError not_found */
function requireServer(id: string): ToolServerId {
  if (!isToolServerId(id)) throw new AppError('not_found', 'No tool server has this id.', { serverId: id });
  return id;
}

/** All servers of the catalogue, in its order. */
export async function listToolServers(scope: Scope): Promise<ToolServerView[]> {
  const rows = await scope.rows(findAll);
  return toolServerIds.map((id) =>
    viewOf(
      scope,
      id,
      rows.find(({ server }) => server === id),
    ),
  );
}

/** The servers that live turns of this tenant can name. */
export async function findConfiguredServers(scope: Scope): Promise<ToolServerId[]> {
  const rows = await scope.rows(findAll);
  return rows
    .filter(({ enabled }) => enabled)
    .map(({ server }) => server)
    .filter(isToolServerId);
}

/** What of a row is needed to reach its server. */
type StoredRow = Pick<ToolConfiguration, 'id' | 'enabled' | 'url' | 'values' | 'sealedSecrets' | 'updatedAt'>;

const stored = ({ sealer }: ConfigurationServices, scope: Scope, row: StoredRow): StoredConfiguration => ({
  id: row.id,
  enabled: row.enabled,
  url: row.url ?? null,
  values: row.values,
  secrets: openSecrets(sealer, row.sealedSecrets, sealedSecretsOf(row.id, scope.tenant)),
  version: `${row.id}/${row.updatedAt.getTime()}`,
});

// Each call of a live tool reads it.
const findEnabled = statement<StoredRow>(
  'tool_configuration.enabled',
  `select id, enabled, url, values, sealed_secrets as "sealedSecrets", updated_at as "updatedAt" from tool_configuration
    where organization_id = $1 and environment = $2 and server = $3 and enabled`,
  { sharesConnection: true },
);

/** @returns undefined where it is not configured or not enabled. @throws SealError */
export async function findConfiguration(
  services: ConfigurationServices,
  scope: Scope,
  server: ToolServerId,
): Promise<StoredConfiguration | undefined> {
  const row = await scope.one(findEnabled, server);
  return row ? stored(services, scope, row) : undefined;
}

const factsOf = (id: ToolServerId, { enabled, url, values, secrets }: Configuration) => ({
  server: id,
  enabled,
  hasUrl: url !== null,
  values: Object.keys(values),
  secrets: Object.keys(secrets),
});

/** @throws AppError validation_error */
async function put(services: ConfigurationServices, tx: Transaction, id: ToolServerId, changes: ConfigurationChange) {
  const row = await tx.one(lockServer, id);
  const before = row ? stored(services, tx, row) : undefined;
  const after = applyChange(catalogue[id], before, changes, services.egress);
  if (Array.isArray(after)) throw invalid(after);
  const { enabled, url, values, secrets } = after;
  const rowId = row?.id ?? newId();
  const sealedSecrets = sealSecrets(services.sealer, secrets, sealedSecretsOf(rowId, tx.tenant));
  // Later than before, whatever the clock says: the time tells one configuration from the next.
  const now = new Date(Math.max(Date.now(), (row?.updatedAt.getTime() ?? 0) + 1));
  const written = [enabled, url, JSON.stringify(values), sealedSecrets, JSON.stringify(Object.keys(secrets)), now];
  const kept = await tx.one(row ? change : insert, rowId, id, ...written);
  await tx.audit({ action: 'tool_server.configure', subjectId: rowId, facts: factsOf(id, after) });
  return viewOf(tx, id, kept);
}

/**
 * Configures a server, or changes how it is configured.
 * @throws AppError not_found; validation_error with paths url, values.<name> and secrets.<name>; conflict when it is
 * configured for the first time twice at once; SealError
 */
export async function putToolServer(
  services: ConfigurationServices,
  scope: Scope,
  id: string,
  change: ConfigurationChange,
): Promise<ToolServerView> {
  const server = requireServer(id);
  return scope.transaction((tx) => put(services, tx, server, change));
}

/** Forgets how a server is configured. Its files stay. @throws AppError not_found: no such server */
export async function removeToolServer(scope: Scope, id: string): Promise<void> {
  const server = requireServer(id);
  await scope.transaction(async (tx) => {
    const row = await tx.one(lockServer, server);
    if (!row) return;
    await tx.rows(remove, row.id);
    await tx.audit({ action: 'tool_server.remove', subjectId: row.id, facts: { server } });
  });
}

const keepFunctionsStatement = statement(
  'tool_configuration.keep_functions',
  `update tool_configuration set functions = $5::jsonb
    where organization_id = $1 and environment = $2 and id = $3 and updated_at = $4 and functions is distinct from $5::jsonb`,
);

/** Remembers which tools a server listed, for those who look at its configuration. */
export const keepFunctions = (scope: Scope, { id, version }: StoredConfiguration, names: string[]): Promise<unknown> =>
  scope.rows(
    keepFunctionsStatement,
    id,
    new Date(Number(version.slice(version.indexOf('/') + 1))),
    JSON.stringify(names),
  );
