import { lockForTransaction } from '../platform/concurrency/tenant-locks.ts';
import type { Database } from '../platform/database/database.ts';
import { blockSize } from '../platform/database/row-blocks.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { AppError } from '../platform/errors.ts';
import { removedFilesKind } from '../storage/index.ts';
import { removalByPlan } from '../tenancy/index.ts';
import { generationIds, videoIds } from './core/ids.ts';
import { generationStates } from './core/status.ts';
import { generationNotFound } from './errors.ts';
import { blockLock, historyTypes } from './history.ts';

const ended = generationStates.sql(...generationStates.terminal);

const countOf = (kind: string) => `count(*) filter (where kind = '${kind}' and status = 'completed')::int as ${kind}`;

const removeStatement = statement({
  name: 'generation.remove',
  parameters: { ids: 'uuid[]' },
  row: { count: 'int' },
  text: `with gone as (
     delete from generation
      where organization_id = :organizationId and environment = :environment and id = any(:ids) and status in (${ended})
     returning number, kind, status, file),
   files as (
     update file set remove_at = atelier_now()
      where organization_id = :organizationId and environment = :environment and name in (select file from gone
        where file is not null)
        and recorded_at is not null and (remove_at is null or remove_at > atelier_now())),
   blocks as (
     update generation_block b set images = b.images - c.image, videos = b.videos - c.video, music = b.music - c.music
       from (select (number - 1) / ${blockSize} as block, ${historyTypes.map(countOf).join(', ')} from gone group by 1) c
      where b.organization_id = :organizationId and b.environment = :environment and b.block = c.block)
   select count(*)::int as count from gone`,
});

// A block of generations that failed has no counts either: it is counted again, at the same cost as its removal saved.
const removeEmptyBlocks = statement({
  name: 'generation.remove_empty_blocks',
  text: `delete from generation_block b
    where b.organization_id = :organizationId and b.environment = :environment and b.images + b.videos + b.music = 0
      and not exists (select from generation g
                       where g.organization_id = :organizationId and g.environment = :environment
                         and g.number > b.block * ${blockSize} and g.number <= (b.block + 1) * ${blockSize})`,
});

async function remove(tx: Transaction, ids: readonly string[]): Promise<number> {
  await lockForTransaction(tx, blockLock);
  const { count } = (await tx.one(removeStatement, { ids }))!;
  await tx.rows(removeEmptyBlocks);
  return count;
}

const findStatus = statement({
  name: 'generation.has_ended',
  parameters: { id: 'uuid' },
  row: { id: 'uuid', hasEnded: 'boolean' },
  text: `select id, status in (${ended}) as "hasEnded" from generation
    where organization_id = :organizationId and environment = :environment and id = :id`,
});

/**
 * Deletes a generation that has ended, with its file.
 * @param id a UUID, `gen_…` or `vid_…`
 * @throws AppError not_found; conflict while it is under way
 */
export async function deleteGeneration(scope: Scope, id: string): Promise<void> {
  const uuid = generationIds.parse(id) ?? videoIds.parse(id);
  await scope.transaction(async (tx) => {
    const generation = uuid && (await tx.one(findStatus, { id: uuid }));
    if (!generation) throw generationNotFound(id);
    if (!generation.hasEnded) {
      throw new AppError('conflict', 'The generation has not ended.', { generationId: id });
    }
    if ((await remove(tx, [generation.id])) === 0) throw generationNotFound(id);
    await tx.enqueue(removedFilesKind, generation.id);
    await tx.audit({ action: 'generation.delete', subjectId: generation.id });
  });
}

const removeOld = removalByPlan({ table: 'generation', endedAt: 'finished_at' });

/** Removes the generations that ended longer ago than their plan keeps them, of all tenants. @returns how many */
export const removeOldGenerations = (database: Database): Promise<number> =>
  removeOld(database, (tx, generations) =>
    remove(
      tx,
      generations.map(({ id }) => id),
    ),
  );
