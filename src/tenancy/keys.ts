import { z } from 'zod';
import { clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { systemTransaction } from '../platform/database/unit-of-work.ts';
import { AppError, type FieldError, invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { operator } from '../platform/security/audit.ts';
import type { Environment } from '../platform/tenant.ts';
import { keyIds } from './core/ids.ts';
import type { ApiKey } from './entities.ts';
import { announceKeyChange, notifyKeyChange } from './key-changes.ts';
import { generateKey, hashKey } from './key-format.ts';
import { findOrganization } from './organizations.ts';

export interface NewKey {
  /** `org_…` or uuid. */
  organizationId: string;
  environment: string;
  name?: string;
  /** A future ISO 8601 date (the start of that day in UTC), or a date-time with an offset. */
  expires?: string;
  variant?: string;
  /** Permissions; all by default. */
  scopes?: string[];
}

interface IssuedKey {
  /** `key_…` */
  id: string;
  /** The key itself. It is returned only here. */
  key: string;
  prefix: string;
  environment: Environment;
  expiresAt: string | null;
}

interface KeyView {
  id: string;
  name: string;
  prefix: string;
  lastFour: string;
  environment: Environment;
  scopes: string[];
  status: 'active' | 'expired' | 'revoked';
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
}

// Statements and not entities, as for organizations: see there.
const insert = systemStatement({
  name: 'api_key.create',
  parameters: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: 'text',
    name: 'text',
    hash: 'bytea',
    prefix: 'text',
    lastFour: 'text',
    scopes: 'text[]',
    variant: 'text',
    createdAt: 'timestamptz',
    expiresAt: 'timestamptz?',
  },
  text: `insert into api_key (id, organization_id, environment, name, hash, prefix, last_four, scopes, variant,
    created_at, expires_at)
   values (:id, :organizationId, :environment, :name, :hash, :prefix, :lastFour, :scopes, :variant, :createdAt,
     :expiresAt)`,
});
const findOfOrganization = systemStatement({
  name: 'api_key.list',
  parameters: { organizationId: 'uuid' },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: 'text',
    name: 'text',
    prefix: 'text',
    lastFour: 'text',
    scopes: 'text[]',
    variant: 'text',
    createdAt: 'timestamptz',
    lastUsedAt: 'timestamptz?',
    expiresAt: 'timestamptz?',
    revokedAt: 'timestamptz?',
  },
  text: `select id, organization_id as "organizationId", environment, name, prefix, last_four as "lastFour", scopes,
          variant, created_at as "createdAt", last_used_at as "lastUsedAt", expires_at as "expiresAt", revoked_at as "revokedAt"
     from api_key where organization_id = :organizationId order by id desc`,
});
const findTenant = systemStatement({
  name: 'api_key.tenant',
  parameters: { id: 'uuid' },
  row: { organizationId: 'uuid', environment: 'text' },
  text: 'select organization_id as "organizationId", environment from api_key where id = :id',
});
const revoke = systemStatement({
  name: 'api_key.revoke',
  parameters: { id: 'uuid', now: 'timestamptz' },
  row: { revoked: 'boolean' },
  text: 'update api_key set revoked_at = :now where id = :id and revoked_at is null returning true as revoked',
});

const isoTime = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** @param known the scopes of all features */
function check(input: NewKey, known: readonly string[], now: Date): void {
  const errors: FieldError[] = [];
  if (input.environment !== 'live' && input.environment !== 'test') {
    errors.push({ path: 'environment', message: 'Expected live or test.' });
  }
  if (input.variant !== undefined && input.variant !== 'A' && input.variant !== 'B') {
    errors.push({ path: 'variant', message: 'Expected A or B.' });
  }
  if (input.expires !== undefined && !isoTime.safeParse(input.expires).success) {
    errors.push({
      path: 'expires',
      message: 'Expected a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z.',
    });
  } else if (input.expires !== undefined && new Date(input.expires) <= now) {
    errors.push({ path: 'expires', message: 'Expected a time in the future.' });
  }
  const unknown = (input.scopes ?? []).filter((scope) => !known.includes(scope));
  if (unknown.length > 0 || input.scopes?.length === 0) {
    errors.push({ path: 'scopes', message: `Expected some of ${known.join(', ')}.` });
  }
  if (input.name !== undefined && (input.name.trim() === '' || input.name.length > 200)) {
    errors.push({ path: 'name', message: 'Expected 1 to 200 characters.' });
  }
  if (errors.length > 0) throw invalid(errors, errors.map((error) => `${error.path}: ${error.message}`).join(' '));
}

/** Issues a key. @throws AppError validation_error, not_found (no such organization) */
export async function createKey(database: Database, input: NewKey): Promise<IssuedKey> {
  const now = clock.date();
  // Loaded here: who lists or revokes keys needs no declarations.
  const { declared } = await import('../platform/parts/declared-parts.ts');
  const known = declared.scopes;
  check(input, known, now);
  const organization = await findOrganization(database, input.organizationId);
  const environment = input.environment as Environment;
  const key = generateKey(environment);
  const prefix = `sk_${environment}_`;
  const expiresAt = input.expires === undefined ? null : new Date(input.expires);
  const id = newId();
  const { id: organizationId } = organization;
  const { name = `${environment} key`, scopes = known, variant = 'A' } = input;
  await systemTransaction(database, async (tx) => {
    await tx.rows(insert, {
      id,
      organizationId,
      environment,
      name,
      hash: hashKey(key),
      prefix,
      lastFour: key.slice(-4),
      scopes,
      variant,
      createdAt: now,
      expiresAt,
    });
    const facts = { name, scopes, variant, expiresAt: expiresAt?.toISOString() ?? null };
    const whose = { organizationId, environment, subjectId: id, actor: operator };
    await tx.audit({ ...whose, action: 'api_key.create', facts });
  });
  return {
    id: keyIds.format(id),
    key,
    prefix,
    environment,
    expiresAt: expiresAt?.toISOString() ?? null,
  };
}

const status = (key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now: Date): KeyView['status'] => {
  if (key.revokedAt) return 'revoked';
  return key.expiresAt && key.expiresAt <= now ? 'expired' : 'active';
};

/** An organization's keys, newest first, without their secrets. @throws AppError not_found */
export async function listKeys(database: Database, organizationId: string): Promise<KeyView[]> {
  const organization = await findOrganization(database, organizationId);
  const now = clock.date();
  const rows = await sqlOn(database.pool).rows(findOfOrganization, { organizationId: organization.id });
  return rows.map((key) => ({
    id: keyIds.format(key.id),
    name: key.name,
    prefix: key.prefix,
    lastFour: key.lastFour,
    environment: key.environment as Environment,
    scopes: key.scopes,
    status: status(key, now),
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    expiresAt: key.expiresAt?.toISOString() ?? null,
  }));
}

/**
 * Revokes a key permanently. Idempotent. When it returns, every process rejects the key.
 * @throws AppError not_found
 */
export async function revokeKey(database: Database, id: string): Promise<{ id: string; status: 'revoked' }> {
  const uuid = keyIds.parse(id);
  const key = uuid && (await sqlOn(database.pool).one(findTenant, { id: uuid }));
  if (!key) throw new AppError('not_found', `No key has the id ${id}.`);
  const { organizationId } = key;
  await systemTransaction(database, async (tx) => {
    const revoked = await tx.one(revoke, { id: uuid, now: clock.date() });
    if (!revoked) return;
    await tx.rows(notifyKeyChange, { organizationId });
    const whose = { organizationId, environment: key.environment as Environment, subjectId: uuid, actor: operator };
    await tx.audit({ ...whose, action: 'api_key.revoke' });
  });
  await announceKeyChange(database, organizationId);
  return { id: keyIds.format(uuid), status: 'revoked' };
}
