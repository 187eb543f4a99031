import { clock } from '../../platform/clock.ts';
import { lockOrganizationForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { IdempotencyClaim, Once as Outcome } from '../../platform/database/idempotency.ts';
import type { Page } from '../../platform/database/page.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError, invalid } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { Variant } from '../caller.ts';
import { keyIds } from '../core/ids.ts';
import { notifyOwnKeyChange } from '../key-changes.ts';
import { generateKey, hashKey } from '../key-format.ts';

// The operations of an organization's people and keys on its keys. The caller announces a change after the commit,
// which makes it effective in every process.

const keyColumns = {
  id: 'uuid',
  name: 'text',
  prefix: 'text',
  lastFour: 'text',
  environment: typed<Environment>('text'),
  scopes: 'text[]',
  variant: typed<Variant>('text'),
  createdAt: 'timestamptz',
  createdBy: 'text?',
  lastUsedAt: 'timestamptz?',
  expiresAt: 'timestamptz?',
  revokedAt: 'timestamptz?',
  replacedBy: 'uuid?',
} as const;

const columns = `id, name, prefix, last_four as "lastFour", environment, scopes, variant, created_at as "createdAt",
  created_by as "createdBy", last_used_at as "lastUsedAt", expires_at as "expiresAt", revoked_at as "revokedAt",
  replaced_by as "replacedBy"`;

/** A key sees the keys of its environment, a person those of both. */
const visible = 'organization_id = :organizationId and (:isEverywhere or environment = :environment)';

const findPage = statement({
  name: 'own_key.list',
  parameters: { isEverywhere: 'boolean', limit: 'int', offset: 'int' },
  row: { ...keyColumns, total: 'int' },
  text: `select ${columns}, (count(*) over ())::int as total from api_key where ${visible}
    order by id desc limit :limit offset :offset`,
});
const countVisible = statement({
  name: 'own_key.count_visible',
  parameters: { isEverywhere: 'boolean' },
  row: { total: 'int' },
  text: `select count(*)::int as total from api_key where ${visible}`,
});
const lock = statement({
  name: 'own_key.lock',
  parameters: { isEverywhere: 'boolean', id: 'uuid' },
  row: keyColumns,
  text: `select ${columns} from api_key where ${visible} and id = :id for update`,
});
const insert = statement({
  name: 'own_key.create',
  parameters: {
    id: 'uuid',
    ofEnvironment: 'text',
    name: 'text',
    hash: 'bytea',
    prefix: 'text',
    lastFour: 'text',
    scopes: 'text[]',
    variant: 'text',
    createdAt: 'timestamptz',
    createdBy: 'text',
    expiresAt: 'timestamptz?',
  },
  text: `insert into api_key (id, organization_id, environment, name, hash, prefix, last_four, scopes, variant, created_at,
      created_by, expires_at)
    select :id, :organizationId, :ofEnvironment, :name, :hash, :prefix, :lastFour, :scopes, :variant, :createdAt,
      :createdBy, :expiresAt where :environment is not null`,
});
const rename = statement({
  name: 'own_key.rename',
  parameters: { isEverywhere: 'boolean', id: 'uuid', name: 'text' },
  text: `update api_key set name = :name where ${visible} and id = :id`,
});
const end = statement({
  name: 'own_key.end',
  parameters: { isEverywhere: 'boolean', id: 'uuid', expiresAt: 'timestamptz?', revokedAt: 'timestamptz?' },
  text: `update api_key set expires_at = :expiresAt, revoked_at = :revokedAt where ${visible} and id = :id`,
});
const replace = statement({
  name: 'own_key.replace',
  parameters: {
    isEverywhere: 'boolean',
    id: 'uuid',
    replacedBy: 'uuid',
    expiresAt: 'timestamptz?',
    revokedAt: 'timestamptz?',
  },
  text: `update api_key set replaced_by = :replacedBy, expires_at = :expiresAt, revoked_at = :revokedAt
    where ${visible} and id = :id`,
});

const count = statement({
  name: 'own_key.count',
  row: { usable: 'int', total: 'int' },
  text: `select count(*) filter (where revoked_at is null and (expires_at is null or expires_at > atelier_statement_now()))::int as usable,
      count(*)::int as total from api_key where organization_id = :organizationId and :environment is not null`,
});

/** Maximum keys of an organization that can be used at the same time, and maximum of all keys including ended ones. */
export const maxUsableKeys = 500;
export const maxKeys = 10_000;

const countUsable = statement({
  name: 'own_key.count_usable',
  row: { usable: 'int' },
  text: `select count(*)::int as usable from (
      select from api_key where organization_id = :organizationId and :environment in ('live', 'test')
         and revoked_at is null and (expires_at is null or expires_at > atelier_statement_now()) limit ${maxKeys}) as counted`,
});

/** How many keys of the organization can be used. */
export const usableKeys = async (scope: Scope): Promise<number> => (await scope.one(countUsable))!.usable;

export interface OwnKey {
  id: string;
  name: string;
  prefix: string;
  lastFour: string;
  environment: Environment;
  scopes: string[];
  variant: Variant;
  createdAt: Date;
  createdBy: string | null;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** The key that a rotation made in its place. */
  replacedBy: string | null;
}

/** The permissions that the caller may give to a key. */
export interface KeyAuthority {
  /** `undefined`: both. */
  environment: Environment | undefined;
  scopes: readonly string[];
  /** The end of the making key. */
  expiresAt: Date | null;
}

interface NewOwnKey {
  name: string;
  environment: Environment;
  scopes?: readonly string[] | undefined;
  variant?: Variant | undefined;
  expiresAt?: Date | undefined;
}

/** The key itself is only in this answer. */
interface IssuedOwnKey extends OwnKey {
  key: string;
}

const noKey = () => new AppError('not_found', 'No key has this id.', { resource: 'api_key' });

/** @throws AppError forbidden */
function checkAuthority(authority: KeyAuthority, environment: Environment, scopes: readonly string[]): void {
  if (authority.environment !== undefined && authority.environment !== environment) {
    throw new AppError('forbidden', `A key of ${authority.environment} cannot create keys of ${environment}.`, {
      required: environment,
    });
  }
  const missing = scopes.find((scope) => !authority.scopes.includes(scope));
  if (missing !== undefined) {
    throw new AppError('forbidden', `A key cannot have a scope that its creator lacks: ${missing}.`, {
      required: missing,
    });
  }
}

/** @throws AppError forbidden where the key ends later than the one that asks for it */
function checkEnd({ expiresAt: last }: KeyAuthority, expiresAt: Date | null): void {
  if (!last || (expiresAt !== null && expiresAt <= last)) return;
  const message = 'A key cannot create a key that outlives it. The new key would end later, or never.';
  throw new AppError('forbidden', message, { expiresAt: last.toISOString() });
}

/**
 * A key is shown again to the caller that created it. Another caller with the same Idempotency-Key sees it only if that
 * caller could have created it.
 * @throws AppError forbidden
 */
function checkReplay({ actor }: Scope, authority: KeyAuthority, { outcome, replayed }: Outcome<IssuedOwnKey>): void {
  if (!replayed || outcome.createdBy === actor) return;
  checkAuthority(authority, outcome.environment, outcome.scopes);
  checkEnd(authority, outcome.expiresAt);
}

const isEverywhere = ({ environment }: KeyAuthority) => environment === undefined;

/** The keys that the caller sees, newest first. */
export async function listOwnKeys(
  scope: Scope,
  authority: KeyAuthority,
  { limit, offset }: { limit: number; offset: number },
): Promise<Page<OwnKey>> {
  const of = { isEverywhere: isEverywhere(authority) };
  const rows = await scope.rows(findPage, { ...of, limit, offset });
  // A page behind the end has no row that says how many there are.
  const { total } = rows[0] ?? (await scope.one(countVisible, of))!;
  return { items: rows, total, limit, offset };
}

/** @throws AppError forbidden */
async function checkCount(tx: Transaction): Promise<void> {
  await lockOrganizationForTransaction(tx, 'keys');
  const { usable, total } = (await tx.one(count))!;
  if (usable < maxUsableKeys && total < maxKeys) return;
  const limit = usable < maxUsableKeys ? maxKeys : maxUsableKeys;
  throw new AppError('forbidden', `An organization has at most ${limit} keys.`, { limit });
}

async function issue(tx: Transaction, given: NewOwnKey & { scopes: readonly string[] }): Promise<IssuedOwnKey> {
  await checkCount(tx);
  const { name, environment, scopes, variant = 'A', expiresAt = null } = given;
  const key = generateKey(environment);
  const made = {
    id: newId(),
    name,
    prefix: `sk_${environment}_`,
    lastFour: key.slice(-4),
    scopes: [...scopes],
    variant,
    createdAt: clock.date(),
    createdBy: tx.actor,
    expiresAt,
  };
  await tx.rows(insert, { ...made, ofEnvironment: environment, hash: hashKey(key) });
  return { ...made, environment, lastUsedAt: null, revokedAt: null, replacedBy: null, key };
}

const factsOf = ({ name, scopes, variant, environment, expiresAt }: OwnKey) => ({
  name,
  scopes,
  variant,
  environment,
  expiresAt: expiresAt?.toISOString() ?? null,
});

interface Once {
  claim: IdempotencyClaim | undefined;
  sealer: Sealer;
}

/** @throws AppError validation_error, forbidden */
export async function createOwnKey(scope: Scope, authority: KeyAuthority, asked: NewOwnKey, { claim, sealer }: Once) {
  const scopes = asked.scopes ?? authority.scopes;
  checkAuthority(authority, asked.environment, scopes);
  const last = authority.expiresAt;
  if (asked.expiresAt && asked.expiresAt <= clock.date()) {
    throw invalid([{ path: 'expiresAt', message: 'Expected a time in the future.' }]);
  }
  if (last && asked.expiresAt && asked.expiresAt > last) {
    throw invalid([
      { path: 'expiresAt', message: `Expected at most the end of the making key, ${last.toISOString()}.` },
    ]);
  }
  const expiresAt = asked.expiresAt ?? last ?? undefined;
  const work = async (tx: Transaction) => {
    const made = await issue(tx, { ...asked, scopes, expiresAt });
    await tx.audit({ action: 'api_key.create', subjectId: made.id, facts: factsOf(made) });
    return made;
  };
  const made = await scope.transaction(work, { claim, sealer });
  checkReplay(scope, authority, made);
  return made;
}

/** @throws AppError not_found */
export async function renameOwnKey(scope: Scope, authority: KeyAuthority, id: string, name: string): Promise<OwnKey> {
  return scope.transaction(async (tx) => {
    const of = { isEverywhere: isEverywhere(authority), id };
    const key = await tx.one(lock, of);
    if (!key) throw noKey();
    if (key.name !== name) {
      await tx.rows(rename, { ...of, name });
      await tx.audit({ action: 'api_key.update', subjectId: id, facts: { name, before: key.name } });
    }
    return { ...key, name };
  });
}

/**
 * Makes a key in place of another one, which ends after the overlap. A key is replaced once: of several rotations at the
 * same time the first one to lock the key wins.
 * @throws AppError not_found, forbidden, conflict (the key has ended, or was rotated)
 */
export async function rotateOwnKey(
  scope: Scope,
  authority: KeyAuthority,
  id: string,
  overlapSeconds: number,
  { claim, sealer }: Once,
) {
  const work = async (tx: Transaction) => {
    const of = { isEverywhere: isEverywhere(authority), id };
    const old = await tx.one(lock, of);
    if (!old) throw noKey();
    checkAuthority(authority, old.environment, old.scopes);
    checkEnd(authority, old.expiresAt);
    const now = clock.now();
    if (old.revokedAt || (old.expiresAt && old.expiresAt.getTime() <= now)) {
      throw new AppError('conflict', 'The key has ended. Create another one.');
    }
    if (old.replacedBy) {
      throw new AppError('conflict', 'The key was already rotated. Rotate its replacement, or create another one.');
    }
    const made = await issue(tx, { ...old, expiresAt: old.expiresAt ?? undefined });
    const ownEnd = old.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
    const expiresAt = new Date(Math.min(now + overlapSeconds * 1000, ownEnd));
    const revokedAt = overlapSeconds === 0 ? new Date(now) : null;
    await tx.rows(replace, { ...of, replacedBy: made.id, expiresAt, revokedAt });
    await tx.rows(notifyOwnKeyChange);
    const facts = { ...factsOf(made), replaces: keyIds.format(id), overlapSeconds };
    await tx.audit({ action: 'api_key.rotate', subjectId: made.id, facts });
    return made;
  };
  const made = await scope.transaction(work, { claim, sealer });
  checkReplay(scope, authority, made);
  return made;
}

/** Ends a key for good; ending it again changes nothing. @throws AppError not_found */
export async function revokeOwnKey(scope: Scope, authority: KeyAuthority, id: string): Promise<void> {
  await scope.transaction(async (tx) => {
    const of = { isEverywhere: isEverywhere(authority), id };
    const key = await tx.one(lock, of);
    if (!key) throw noKey();
    if (key.revokedAt) return;
    await tx.rows(end, { ...of, expiresAt: key.expiresAt, revokedAt: clock.date() });
    await tx.rows(notifyOwnKeyChange);
    await tx.audit({ action: 'api_key.revoke', subjectId: id });
  });
}
