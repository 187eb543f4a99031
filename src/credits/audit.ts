import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../platform/tenant.ts';

/** A tenant whose accounts differ from its ledger. */
interface LedgerFault extends Tenant {
  fault:
    | 'account differs from entries'
    | 'held differs from open reservations'
    | 'reservation is neither open nor ended';
}

// What constraints cannot say because it is about many rows, for the organizations after $1 up to $2.
const findFaults = systemStatement({
  name: 'credit.faults',
  parameters: { after: 'uuid', bound: 'uuid' },
  row: {
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    fault: typed<
      'account differs from entries' | 'held differs from open reservations' | 'reservation is neither open nor ended'
    >('text'),
  },
  text: `with summed as (
     select organization_id, environment, sum(monthly) as monthly, sum(lasting) as lasting, sum(held) as held,
            sum(spent) as spent, sum(lapsed) as lapsed, sum(issued) as issued
       from credit_entry where organization_id > :after and organization_id <= :bound group by 1, 2),
   account as (
     select * from credit_account where organization_id > :after and organization_id <= :bound),
   holds as (
     select organization_id, environment, sum(monthly + lasting) as held from credit_hold
      where organization_id > :after and organization_id <= :bound group by 1, 2)
   select organization_id as "organizationId", environment, 'account differs from entries' as fault
     from account a full join summed s using (organization_id, environment)
    where (coalesce(a.monthly, 0), coalesce(a.lasting, 0), coalesce(a.held, 0), coalesce(a.spent, 0),
           coalesce(a.lapsed, 0), coalesce(a.issued, 0))
       is distinct from (coalesce(s.monthly, 0), coalesce(s.lasting, 0), coalesce(s.held, 0), coalesce(s.spent, 0),
           coalesce(s.lapsed, 0), coalesce(s.issued, 0))
   union all
   select organization_id, environment, 'held differs from open reservations'
     from account a full join holds h using (organization_id, environment)
    where coalesce(a.held, 0) <> coalesce(h.held, 0)
   union all
   select distinct opened.organization_id, opened.environment, 'reservation is neither open nor ended'
     from credit_entry opened
     left join credit_entry ended on ended.organization_id = opened.organization_id
       and ended.environment = opened.environment and ended.key = opened.key and ended.phase = 2
     left join credit_hold hold on hold.organization_id = opened.organization_id
       and hold.environment = opened.environment and hold.key = opened.key
    where opened.organization_id > :after and opened.organization_id <= :bound
      and opened.phase = 1 and (ended.key is null) = (hold.key is null)`,
});

const findBound = systemStatement({
  name: 'credit.faults_bound',
  parameters: { after: 'uuid', offset: 'bigint' },
  row: { id: 'uuid' },
  text: 'select id from organization where id > :after order by id offset :offset limit 1',
});

const firstId = '00000000-0000-0000-0000-000000000000';
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** Organizations per statement, so that no statement exceeds its timeout. */
const batch = 200;

/** Verifies the whole ledger of all tenants. @returns the faults; an empty list for a correct ledger */
export async function findLedgerFaults(database: Database): Promise<LedgerFault[]> {
  const sql = sqlOn(database.pool);
  const faults: LedgerFault[] = [];
  for (let after = firstId; after !== lastId; ) {
    const bound = (await sql.one(findBound, { after, offset: batch - 1 }))?.id ?? lastId;
    faults.push(...(await sql.rows(findFaults, { after, bound })));
    after = bound;
  }
  return faults;
}

// One process at a time checks the ledger. If it dies, another one takes over after an hour.
const tryLock = systemStatement({
  name: 'credit.check_turn',
  row: { taken: 'boolean' },
  text: `insert into ledger_check (name, due_at) values ('credits', clock_timestamp() + interval '1 hour')
   on conflict (name) do update set due_at = excluded.due_at where ledger_check.due_at <= clock_timestamp()
   returning true as taken`,
});

const recordCheck = systemStatement({
  name: 'credit.check_record',
  parameters: { faults: 'int' },
  text: "update ledger_check set checked_at = clock_timestamp(), faults = :faults where name = 'credits'",
});

/**
 * Verifies the ledger once an hour, in one of the processes, and stores the number of faults for the gauges.
 * @returns undefined if the check is not due
 */
export async function checkLedger(database: Database): Promise<LedgerFault[] | undefined> {
  const sql = sqlOn(database.pool);
  if (!(await sql.one(tryLock))) return undefined;
  const faults = await findLedgerFaults(database);
  await sql.rows(recordCheck, { faults: faults.length });
  return faults;
}
