import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import { systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { withSweepLock } from '../../platform/database/sweep-lock.ts';
import type { UnitOfWork } from '../../platform/database/unit-of-work.ts';
import type { Environment } from '../../platform/tenant.ts';
import { approvalStates } from '../core/approvals.ts';

/*
 * How lists of approvals are counted.
 *
 * A trigger notes each approval that is created, changes its state or is removed in `approval_change`, in the transaction
 * of the change. In the order of lists, by (created_at, id), the approvals of a tenant are divided into blocks, and this
 * sweep adds what was noted to the counts of its block: of all workflows, and of each workflow. A list adds up the counts
 * and what is noted in one snapshot, so it is exact at any time, and it finds the block where its page begins.
 *
 * The last bits of an id are random: one approval in 128 may end a block, and every fourth of them does.
 */

/** In place of a workflow: the counts of all of them. */
export const allWorkflows = '00000000-0000-0000-0000-000000000000';

/** The condition of a change that may end a block. The index of them has it too. */
const mayEnd = 'was is null and get_byte(uuid_send(approval_id), 15) < 2';
const endsEvery = 4;

const statuses = approvalStates.all;
const columns = statuses.join(', ');
const isEmpty = statuses.map((status) => `${status} = 0`).join(' and ');
const isTenant = (a: string, b: string) =>
  `${a}.organization_id = ${b}.organization_id and ${a}.environment = ${b}.environment`;

// The first end beyond the blocks that a tenant has.
const addEnds = systemStatement({
  name: 'approval_block.add_ends',
  parameters: { limit: 'int' },
  row: { organizationId: 'uuid', environment: typed<Environment>('text'), endsAt: 'text', endsId: 'uuid' },
  text: `insert into approval_block (organization_id, environment, ends_at, ends_id, automation_id, ${columns})
   select c.organization_id, c.environment, (array_agg(c.created_at order by c.created_at, c.approval_id))[${endsEvery}],
          (array_agg(c.approval_id order by c.created_at, c.approval_id))[${endsEvery}], '${allWorkflows}',
          ${statuses.map(() => 0).join(', ')}
     from approval_change c
     left join lateral (
       select ends_at, ends_id from approval_block b
        where ${isTenant('b', 'c')} and b.automation_id = '${allWorkflows}'
        order by ends_at desc, ends_id desc limit 1) latest on true
    where ${mayEnd} and (latest.ends_at is null or (c.created_at, c.approval_id) > (latest.ends_at, latest.ends_id))
    group by 1, 2 having count(*) >= ${endsEvery} limit :limit
   returning organization_id as "organizationId", environment, ends_at::text as "endsAt", ends_id as "endsId"`,
});

const changeOf = (status: string) =>
  `sum((becomes is not distinct from '${status}')::int - (was is not distinct from '${status}')::int)`;

/** Adds the chosen changes to the counts of the blocks in which their approvals are. */
const addChosen = (chosen: string) => `with chosen as materialized (${chosen}),
   located as materialized (
     select chosen.*, b.ends_at, b.ends_id
       from chosen cross join lateral (
         select ends_at, ends_id from approval_block b
          where ${isTenant('b', 'chosen')} and b.automation_id = '${allWorkflows}'
            and (b.ends_at, b.ends_id) >= (chosen.created_at, chosen.approval_id)
          order by ends_at, ends_id limit 1) b),
   taken as (delete from approval_change where id in (select id from located)),
   added as (
     insert into approval_block as b (organization_id, environment, ends_at, ends_id, automation_id, ${columns})
     select organization_id, environment, ends_at, ends_id, series.automation_id, ${statuses.map(changeOf).join(', ')}
       from located cross join lateral (values ('${allWorkflows}'::uuid), (located.automation_id)) as series (automation_id)
      group by 1, 2, 3, 4, 5
     on conflict (organization_id, environment, ends_at, ends_id, automation_id) do update
        set ${statuses.map((status) => `${status} = b.${status} + excluded.${status}`).join(', ')})
   select count(*)::int as count from located`;

const addUpTo = systemStatement({
  name: 'approval_block.add_up_to',
  parameters: { organizationId: 'uuid', environment: 'text', endsAt: 'timestamptz', endsId: 'uuid' },
  row: { count: 'int' },
  text: addChosen(`select * from approval_change
     where organization_id = :organizationId and environment = :environment
       and (created_at, approval_id) <= (:endsAt, :endsId)`),
});

const addLate = systemStatement({
  name: 'approval_block.add_late',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: addChosen('select * from approval_change where is_late order by id limit :limit'),
});

// No new approval joins a block without approvals. Late changes of what was in the last one belong to it.
const removeEmpty = systemStatement({
  name: 'approval_block.remove_empty',
  text: `with gone as (delete from approval_block where ${isEmpty} and automation_id <> '${allWorkflows}')
   delete from approval_block b
    where ${isEmpty} and automation_id = '${allWorkflows}'
      and not exists (select from approval_block o
                       where ${isTenant('o', 'b')} and o.ends_at = b.ends_at and o.ends_id = b.ends_id and not (${isEmpty}))
      and exists (select from approval_block o
                   where ${isTenant('o', 'b')} and o.automation_id = '${allWorkflows}'
                     and (o.ends_at, o.ends_id) > (b.ends_at, b.ends_id))`,
});

// Sweeps of several processes run one after another: none makes an end within a block of another.
const whileLocked = (database: Database, work: (unit: UnitOfWork) => Promise<number>): Promise<number> =>
  withSweepLock(database, 'atelier.approval_blocks', work, 0);

/**
 * Divides approvals into blocks, and adds what was noted of them to the counts, of all tenants.
 * @returns how many blocks were added, and late changes
 */
export async function sweepApprovalBlocks(database: Database): Promise<number> {
  let blocks = 0;
  for (let added = 1; added > 0; blocks += added) {
    added = await whileLocked(database, async (unit) => {
      const ends = await unit.rows(addEnds, { limit: 10 });
      for (const end of ends) await unit.one(addUpTo, end);
      return ends.length;
    });
  }
  const late = await inBatches(
    (limit) => whileLocked(database, async (unit) => (await unit.one(addLate, { limit }))!.count),
    1_000,
  );
  if (blocks + late > 0) await whileLocked(database, async (unit) => (await unit.rows(removeEmpty)).length);
  return blocks + late;
}
