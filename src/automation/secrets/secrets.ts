import { clock } from '../../platform/clock.ts';
import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Page } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import { sealedColumns } from '../../platform/security/sealed-columns.ts';
import { maxSecrets, secretNamePattern } from '../core/secret-names.ts';
import { Secret } from './entities.ts';

interface SecretServices {
  sealer: Sealer;
}

/** A secret as callers see it: without its value. */
export type SecretView = Pick<Secret, 'name' | 'createdAt' | 'updatedAt'> & { lastUsedAt: Date | null };

const columnsOf = sealedColumns<{ sealed_value: string }>('secret');

const viewOf = ({ name, createdAt, updatedAt, lastUsedAt }: Secret): SecretView => ({
  name,
  createdAt,
  updatedAt,
  lastUsedAt: lastUsedAt ?? null,
});

const secretNotFound = (name: string) => new AppError('not_found', 'No secret has this name.', { name });

/** By name. */
export async function listSecrets(
  scope: Scope,
  { limit, offset }: { limit: number; offset: number },
): Promise<Page<SecretView>> {
  const [secrets, total] = await scope.read((em) =>
    em.findAndCount(Secret, {}, { orderBy: { name: 'asc' }, limit, offset }),
  );
  return { items: secrets.map(viewOf), total, limit, offset };
}

/** Creates a secret or replaces its value. @throws AppError forbidden when there are too many; SealError */
export function putSecret({ sealer }: SecretServices, scope: Scope, name: string, value: string): Promise<SecretView> {
  return scope.transaction(async (tx) => {
    await lockForTransaction(tx, 'secrets');
    const now = clock.date();
    let secret = await tx.em.findOne(Secret, { name });
    if (!secret) {
      if ((await tx.em.count(Secret)) >= maxSecrets) {
        throw new AppError('forbidden', `An environment has at most ${maxSecrets} secrets.`, { limit: maxSecrets });
      }
      const id = newId();
      const dates = { createdAt: now, updatedAt: now, lastUsedAt: null };
      secret = tx.em.create(Secret, { id, ...tx.tenant, name, sealedValue: '', ...dates });
      tx.em.persist(secret);
    }
    secret.sealedValue = columnsOf(sealer, tx).seal(secret.id, 'sealed_value', value);
    secret.updatedAt = now;
    await tx.audit({ action: 'secret.put', subjectId: secret.id, facts: { name } });
    return viewOf(secret);
  });
}

/** @throws AppError not_found */
export async function deleteSecret(scope: Scope, name: string): Promise<void> {
  await scope.transaction(async (tx) => {
    // Other texts name no secret, and some cannot be queried: PostgreSQL stores no NUL.
    const secret = secretNamePattern.test(name) && (await tx.em.findOne(Secret, { name }));
    if (!secret) throw secretNotFound(name);
    tx.em.remove(secret);
    await tx.audit({ action: 'secret.delete', subjectId: secret.id, facts: { name } });
  });
}

const findNamed = statement({
  name: 'secret.named',
  parameters: { names: 'text[]' },
  row: { name: 'text' },
  text: 'select name from secret where organization_id = :organizationId and environment = :environment and name = any(:names)',
  sharesConnection: true,
});

/** The names without a secret. */
export async function findMissingSecrets(scope: Scope, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const found = new Set((await scope.rows(findNamed, { names })).map(({ name }) => name));
  return [...new Set(names)].filter((name) => !found.has(name));
}

const findSealed = statement({
  name: 'secret.sealed',
  parameters: { names: 'text[]' },
  row: { id: 'uuid', name: 'text', sealedValue: 'text' },
  text: `select id, name, sealed_value as "sealedValue" from secret
    where organization_id = :organizationId and environment = :environment and name = any(:names)`,
  sharesConnection: true,
});

// Steps that use a secret all the time write once a minute.
const markUsed = statement({
  name: 'secret.mark_used',
  parameters: { ids: 'uuid[]' },
  text: `update secret set last_used_at = atelier_statement_now()
    where organization_id = :organizationId and environment = :environment and id = any(:ids)
      and (last_used_at is null or last_used_at < atelier_statement_now() - interval '1 minute')`,
});

/**
 * The values of secrets, to be sent at once.
 * @returns by name; one that does not exist is left out. @throws SealError
 */
export async function openSecrets(
  { sealer }: SecretServices,
  scope: Scope,
  names: readonly string[],
): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await scope.rows(findSealed, { names });
  const columns = columnsOf(sealer, scope);
  const values = new Map(
    rows.map(({ id, name, sealedValue }) => [name, columns.open(id, 'sealed_value', sealedValue)]),
  );
  if (rows.length > 0) await scope.rows(markUsed, { ids: rows.map(({ id }) => id) });
  return values;
}
