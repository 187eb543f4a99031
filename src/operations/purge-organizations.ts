import { setTimeout as sleep } from 'node:timers/promises';
import type { Foundation } from '../foundation.ts';
import { attemptAll } from '../platform/concurrency/attempt-all.ts';
import { Scope } from '../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { newId } from '../platform/ids.ts';
import { environments } from '../platform/tenant.ts';
import { removeDueFilesOf, type StorageServices } from '../storage/index.ts';
import { restorableDays, type TenancyServices } from '../tenancy/index.ts';
import { failPoint } from './fail-points.ts';
import { markFilesOf, type rowPurge } from './purge-rows.ts';

export type PurgeServices = Pick<Foundation, 'database' | 'log'> &
  Pick<TenancyServices, 'tenantEnds'> &
  Pick<StorageServices, 'disk'> & { purgeRows: ReturnType<typeof rowPurge> };

// From here on it cannot be restored.
const markPurging = systemStatement({
  name: 'organization.mark_purging',
  text: `update organization set purging_at = atelier_now()
    where deleted_at < atelier_statement_now() - make_interval(days => ${restorableDays}) and purging_at is null`,
});

// Those that were not tried for the longest time: one that cannot be removed comes after all others the next time.
const takePurging = systemStatement({
  name: 'organization.take_purging',
  parameters: { limit: 'int' },
  row: { id: 'uuid' },
  text: `update organization set purging_at = atelier_now()
    where purging_at is not null
      and id in (select id from organization where purging_at is not null order by purging_at, id limit :limit)
   returning id`,
});

/** A provider that does not answer holds up one organization alone. */
async function endWork({ tenantEnds, log }: PurgeServices, scope: Scope): Promise<boolean> {
  try {
    return await tenantEnds.run(scope);
  } catch (error) {
    log.warn({ err: error, ...scope.tenant }, 'work of a deleted organization did not end');
    return true;
  }
}

/** The enqueued work usually ends it within seconds; otherwise a later call continues. */
const looks = { count: 10, everyMs: 500 };

async function hasEnded(services: PurgeServices, scopes: readonly Scope[]): Promise<boolean> {
  for (let look = 0; look < looks.count; look++) {
    const open = await Promise.all(scopes.map((scope) => endWork(services, scope)));
    if (!open.includes(true)) return true;
    await sleep(looks.everyMs);
  }
  return false;
}

/**
 * Removes the organizations whose time for a restore is over, with all their data, a batch at a time. The next call
 * finds the rest, also after a crash.
 * @returns how many organizations and batches of rows were removed
 * @throws the first failure, after the other organizations were tried
 */
export async function purgeOrganizations(services: PurgeServices): Promise<number> {
  const { database, purgeRows } = services;
  const sql = sqlOn(database.pool);
  await sql.rows(markPurging);
  failPoint('organization.purging');
  let changed = 0;
  await attemptAll(await sql.rows(takePurging, { limit: 20 }), async ({ id: organizationId }) => {
    const scopes = environments.map((environment) => new Scope(database, { organizationId, environment }, newId()));
    if (!(await hasEnded(services, scopes))) return;
    failPoint('organization.ended');
    changed += await markFilesOf(database, organizationId);
    for (const scope of scopes) await removeDueFilesOf(services, scope);
    failPoint('organization.files_removed');
    changed += await purgeRows(database, organizationId);
  });
  return changed;
}
