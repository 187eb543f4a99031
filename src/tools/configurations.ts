import { clock } from '../platform/clock.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { Egress } from '../platform/egress/egress.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Sealer } from '../platform/security/crypto.ts';
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
  /** Whether messages can name it. In the test environment they can name each. */
  configured: boolean;
  enabled: boolean;
  url: string | null;
  values: Record<string, string>;
  secrets: string[];
  /** Names of its functions; null if only the server knows them and was not asked yet. */
  functions: string[] | null;
  /** Null where nothing was configured. */
  updatedAt: Date | null;
}

/** The data for a connection to a server, secrets included. */
export interface StoredConfiguration extends Configuration {
  id: string;
  /** Changes with the configuration: connections of an earlier configuration are no longer used. */
  version: string;
}

type Row = Omit<ToolConfiguration, 'organizationId' | 'environment' | 'createdAt'>;

// Statements and not entities: operators' commands use them, each a process of its own that loads as little as it can.
const columns = `id, server, enabled, url, values, sealed_secrets as "sealedSecrets", secret_names as "secretNames", functions,
  updated_at as "updatedAt"`;
const ofTenant = 'organization_id = :organizationId and environment = :environment';

const rowColumns = {
  id: 'uuid',
  server: 'text',
  enabled: 'boolean',
  url: 'text?',
  values: typed<Record<string, string>>('json'),
  sealedSecrets: 'text?',
  secretNames: typed<string[]>('jsonb'),
  functions: typed<string[] | null | undefined>('jsonb?'),
  updatedAt: 'timestamptz',
} as const;

/** The input for creating and changing a configuration. */
const written = {
  id: 'uuid',
  server: 'text',
  enabled: 'boolean',
  url: 'text?',
  values: 'json',
  sealedSecrets: 'text?',
  secretNames: 'jsonb',
  now: 'timestamptz',
} as const;

const findAll = statement({
  name: 'tool_configuration.list',
  row: rowColumns,
  text: `select ${columns} from tool_configuration where ${ofTenant}`,
});
const lockServer = statement({
  name: 'tool_configuration.lock',
  parameters: { server: 'text' },
  row: rowColumns,
  text: `select ${columns} from tool_configuration where ${ofTenant} and server = :server for update`,
});
const insert = statement({
  name: 'tool_configuration.create',
  parameters: written,
  row: rowColumns,
  text: `insert into tool_configuration
     (organization_id, environment, id, server, enabled, url, values, sealed_secrets, secret_names, created_at,
       updated_at)
   values (:organizationId, :environment, :id, :server, :enabled, :url, :values, :sealedSecrets, :secretNames, :now,
     :now) returning ${columns}`,
});
const change = statement({
  name: 'tool_configuration.change',
  parameters: written,
  row: rowColumns,
  text: `update tool_configuration
      set enabled = :enabled, url = :url, values = :values, sealed_secrets = :sealedSecrets,
        secret_names = :secretNames, functions = null, updated_at = :now
    where ${ofTenant} and id = :id and server = :server returning ${columns}`,
});
const remove = statement({
  name: 'tool_configuration.remove',
  parameters: { id: 'uuid' },
  text: `delete from tool_configuration where ${ofTenant} and id = :id`,
});

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

/** The servers that live messages of this tenant can name. */
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
const findEnabled = statement({
  name: 'tool_configuration.enabled',
  parameters: { server: 'text' },
  row: {
    id: 'uuid',
    enabled: 'boolean',
    url: 'text?',
    values: typed<Record<string, string>>('json'),
    sealedSecrets: 'text?',
    updatedAt: 'timestamptz',
  },
  text: `select id, enabled, url, values, sealed_secrets as "sealedSecrets", updated_at as "updatedAt"
    from tool_configuration
    where organization_id = :organizationId and environment = :environment and server = :server and enabled`,
  sharesConnection: true,
});

/** @returns undefined where it is not configured or not enabled. @throws SealError */
export async function findConfiguration(
  services: ConfigurationServices,
  scope: Scope,
  server: ToolServerId,
): Promise<StoredConfiguration | undefined> {
  const row = await scope.one(findEnabled, { server });
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
  const row = await tx.one(lockServer, { server: id });
  const before = row ? stored(services, tx, row) : undefined;
  const after = applyChange(catalogue[id], before, changes, services.egress);
  if (Array.isArray(after)) throw invalid(after);
  const { enabled, url, values, secrets } = after;
  const rowId = row?.id ?? newId();
  const sealedSecrets = sealSecrets(services.sealer, secrets, sealedSecretsOf(rowId, tx.tenant));
  // Later than before, whatever the clock says: the time distinguishes a configuration from the next one.
  const now = new Date(Math.max(clock.now(), (row?.updatedAt.getTime() ?? 0) + 1));
  const kept = await tx.one(row ? change : insert, {
    id: rowId,
    server: id,
    enabled,
    url,
    values: JSON.stringify(values),
    sealedSecrets,
    secretNames: JSON.stringify(Object.keys(secrets)),
    now,
  });
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
    const row = await tx.one(lockServer, { server });
    if (!row) return;
    await tx.rows(remove, { id: row.id });
    await tx.audit({ action: 'tool_server.remove', subjectId: row.id, facts: { server } });
  });
}

const keepFunctionsStatement = statement({
  name: 'tool_configuration.keep_functions',
  parameters: { id: 'uuid', updatedAt: 'timestamptz', names: 'jsonb' },
  text: `update tool_configuration set functions = :names
    where organization_id = :organizationId and environment = :environment and id = :id and updated_at = :updatedAt
      and functions is distinct from :names`,
});

/** Stores the tools that a server listed, for readers of its configuration. */
export const keepFunctions = (scope: Scope, { id, version }: StoredConfiguration, names: string[]): Promise<unknown> =>
  scope.rows(keepFunctionsStatement, {
    id,
    updatedAt: new Date(Number(version.slice(version.indexOf('/') + 1))),
    names: JSON.stringify(names),
  });
