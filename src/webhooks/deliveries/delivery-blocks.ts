import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { withSweepLock } from '../../platform/database/sweep-lock.ts';
import { deliveryStatuses } from '../core/delivery-status.ts';

/*
 * How lists of deliveries are counted.
 *
 * In the order of lists, by (created_at, id), the deliveries of a subscription are divided into blocks: the last bits of an
 * id are random, and one delivery in 1024 ends a block. Each block has its counts by event type and state. A list then adds
 * up one row for each thousand deliveries, and finds the block where its page begins.
 *
 * Deliveries change after they were counted: they are retried, replayed and removed. A trigger notes each such change in
 * `delivery_change`, in the transaction of the change, and this sweep adds the changes to the counts. A list reads both in
 * one snapshot, so it is exact at any time. Deliveries younger than half a minute are in no block and need no note: most
 * are delivered by then.
 */

const isBlockEnd = 'get_byte(uuid_send(id), 15) = 0 and get_byte(uuid_send(id), 14) % 4 = 0';

// Changes within 30 seconds of the creation are not noted: see the migration.
const youngSeconds = 60;

const noId = '00000000-0000-0000-0000-000000000000';

// Goes from subscription to subscription along the index of ends, and adds what lies beyond the last block of each.
const addBlocks = systemStatement({
  name: 'delivery_block.add',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with recursive ending as (
     (select subscription_id as id from delivery where ${isBlockEnd} order by subscription_id limit 1)
     union all
     select (select subscription_id from delivery where ${isBlockEnd} and subscription_id > ending.id
              order by subscription_id limit 1)
       from ending where ending.id is not null),
   added as (
     insert into delivery_block (subscription_id, ends_at, ends_id, organization_id, environment, is_counted)
     select s.id, e.created_at, e.id, s.organization_id, s.environment, false
       from ending join webhook_subscription s on s.id = ending.id and s.deleted_at is null
       left join lateral (select ends_at, ends_id from delivery_block where subscription_id = s.id
                           order by ends_at desc, ends_id desc limit 1) latest on true
      cross join lateral (
        select created_at, id from delivery
         where subscription_id = s.id and ${isBlockEnd}
           and (created_at, id) > (coalesce(latest.ends_at, '-infinity'), coalesce(latest.ends_id, '${noId}'))
           and created_at < (select atelier_now() - interval '${youngSeconds} seconds')
         order by created_at, id limit :limit) e
      limit :limit
     on conflict do nothing
     returning 1)
   select count(*)::int as count from added`,
});

// Runs in a transaction after the one that added the blocks. Transactions with a higher number see the blocks and
// record their changes. Numbers of another cluster, from which the data was restored, have no meaning.
const announceBlocks = systemStatement({
  name: 'delivery_block.announce',
  text: `update delivery_block set announced_by = pg_current_xact_id()::text::bigint
    where not is_counted and (announced_by is null or announced_by > pg_current_xact_id()::text::bigint)`,
});

const columns = deliveryStatuses.join(', ');
const isKey = (a: string, b: string) =>
  `${a}.subscription_id = ${b}.subscription_id and ${a}.ends_at = ${b}.ends_at and ${a}.ends_id = ${b}.ends_id`;

// Once all transactions have ended that may have changed a delivery without a recorded change. This statement sees the
// recorded changes and the changes themselves.
const countBlocks = systemStatement({
  name: 'delivery_block.count',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with due as (
     select b.*, coalesce(p.ends_at, '-infinity') as begins_at, coalesce(p.ends_id, '${noId}') as begins_id
       from delivery_block b
       left join lateral (
         select ends_at, ends_id from delivery_block
          where subscription_id = b.subscription_id and (ends_at, ends_id) < (b.ends_at, b.ends_id)
          order by ends_at desc, ends_id desc limit 1) p on true
      where not b.is_counted and b.announced_by < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      limit :limit),
   counts as (
     insert into delivery_block_count (subscription_id, ends_at, ends_id, organization_id, environment, event_type,
       ${columns})
     select due.subscription_id, due.ends_at, due.ends_id, due.organization_id, due.environment, typed.*
       from due cross join lateral (
         select d.event_type,
                ${deliveryStatuses.map((status) => `count(*) filter (where d.status = '${status}')`).join(', ')}
           from delivery d
          where d.subscription_id = due.subscription_id
            and (d.created_at, d.id) > (due.begins_at, due.begins_id)
              and (d.created_at, d.id) <= (due.ends_at, due.ends_id)
          group by 1) typed),
   noted as (delete from delivery_change c using due where ${isKey('c', 'due')}),
   counted as (update delivery_block b set is_counted = true from due where ${isKey('b', 'due')} returning 1)
   select count(*)::int as count from counted`,
});

const changeOf = (status: string) =>
  `coalesce(sum((becomes is not distinct from '${status}')::int - (was is not distinct from '${status}')::int), 0)`;

// Changes of blocks that are not counted yet, or no longer, are dropped: a later count includes them.
const addChanges = systemStatement({
  name: 'delivery_block.add_changes',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with taken as (
     delete from delivery_change where id in (select id from delivery_change order by id limit :limit) returning *),
   added as (
     insert into delivery_block_count as c
       (subscription_id, ends_at, ends_id, organization_id, environment, event_type, ${columns})
     select b.subscription_id, b.ends_at, b.ends_id, b.organization_id, b.environment, taken.event_type,
            ${deliveryStatuses.map(changeOf).join(', ')}
       from taken join delivery_block b on ${isKey('b', 'taken')} and b.is_counted
      group by 1, 2, 3, 4, 5, 6
     on conflict (subscription_id, ends_at, ends_id, event_type) do update
        set ${deliveryStatuses.map((status) => `${status} = c.${status} + excluded.${status}`).join(', ')})
   select count(*)::int as count from taken`,
});

const isEmpty = deliveryStatuses.map((status) => `${status} = 0`).join(' and ');

// The deliveries of a block without rows no longer exist, and no new delivery joins the block: new ones are at the end.
const removeEmpty = systemStatement({
  name: 'delivery_block.remove_empty',
  text: `with gone as (delete from delivery_block_count where ${isEmpty} returning subscription_id, ends_at, ends_id)
   delete from delivery_block b using gone
    where ${isKey('b', 'gone')}
      and not exists (select from delivery_block_count c where ${isKey('c', 'b')} and not (${isEmpty}))`,
});

// Sweeps of several processes run one after another: a change is added to counts that no other sweep is making.
const lock = 'atelier.delivery_blocks';

const inLockedBatches = (database: Database, of: typeof addBlocks, size: number) =>
  inBatches((limit) => withSweepLock(database, lock, async (unit) => (await unit.one(of, { limit }))!.count, 0), size);

/**
 * Adds blocks where deliveries have come to be, counts them, and adds noted changes to their counts, of all tenants. A
 * block is counted by a later call while transactions are open that may not know it.
 * @returns how many blocks were counted and changes added
 */
export async function sweepDeliveryBlocks(database: Database): Promise<number> {
  await inLockedBatches(database, addBlocks, 500);
  await sqlOn(database.pool).rows(announceBlocks);
  const counted = await inLockedBatches(database, countBlocks, 50);
  const added = await inLockedBatches(database, addChanges, 1_000);
  if (added > 0) await withSweepLock(database, lock, (unit) => unit.rows(removeEmpty), []);
  return counted + added;
}

const forgetBlocks = statement({
  name: 'delivery_block.forget',
  parameters: { subscriptionId: 'uuid' },
  text: `with counts as (
     delete from delivery_block_count where organization_id = :organizationId and environment = :environment
       and subscription_id = :subscriptionId)
   delete from delivery_block where organization_id = :organizationId and environment = :environment
     and subscription_id = :subscriptionId`,
});

/** Removes the blocks of a deleted subscription, whose lists are not read. It is no longer counted. */
export const forgetDeliveryBlocks = (scope: Scope, subscriptionId: string) =>
  scope.rows(forgetBlocks, { subscriptionId });
