import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { AppError } from '../platform/errors.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { storageLimits } from './core/limits.ts';

/** For SQL: the bytes that the tenant `$1`, `$2` keeps. */
export const storedBytesSql = `(select coalesce(sum(bytes), 0)::float8 from storage_used
  where organization_id = :organizationId and environment = :environment)`;

/** Values of at most so many bytes do not count. */
export const uncountedBytes = 1024;

export interface Stored {
  plan: PlanName;
  storedBytes: number;
}

const findStored = statement({
  name: 'storage.stored',
  row: { plan: typed<PlanName>('text'), storedBytes: 'float8' },
  text: `select o.plan, ${storedBytesSql} as "storedBytes" from organization o where o.id = :organizationId
    and :environment is not null`,
});

const units = [
  [1024 ** 4, 'TiB'],
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
] as const;

/** `2 GiB`; a number of bytes that is no multiple of a larger unit as it is. */
function written(bytes: number): string {
  const unit = units.find(([size]) => bytes >= size && bytes % size === 0);
  return unit ? `${bytes / unit[0]} ${unit[1]}` : `${bytes.toLocaleString('en-US')} bytes`;
}

export const isStorageFull = ({ plan, storedBytes }: Stored): boolean =>
  storedBytes >= storageLimits.storageBytes.of(plan);

export const storageFullMessage = (plan: PlanName): string =>
  `The plan ${plan} includes ${written(storageLimits.storageBytes.of(plan))} of files, inputs and outputs, and they are used up. Delete runs or generations.`;

/** Refuses what would add a file when the tenant keeps as much as its plan includes. @throws AppError forbidden */
export async function enforceStorageLimit(scope: Scope): Promise<void> {
  const stored = (await scope.one(findStored))!;
  const { plan } = stored;
  if (!isStorageFull(stored)) return;
  throw new AppError('forbidden', storageFullMessage(plan), { limit: storageLimits.storageBytes.of(plan), plan });
}
