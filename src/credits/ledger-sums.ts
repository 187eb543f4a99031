import { clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { type Sql, sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { systemSnapshot } from '../platform/database/unit-of-work.ts';
import type { Environment, Tenant } from '../platform/tenant.ts';

/** A tenant whose accounts differ from its ledger. */
export interface LedgerFault extends Tenant {
  fault:
    | 'account differs from entries'
    | 'held differs from open reservations'
    | 'reservation is neither open nor ended';
}

export const tenantColumns = { organizationId: 'uuid', environment: typed<Environment>('text') } as const;

const amounts = {
  monthly: 'bigint',
  lasting: 'bigint',
  held: 'bigint',
  spent: 'bigint',
  lapsed: 'bigint',
  issued: 'bigint',
  /** How many are open. */
  reservations: 'bigint',
} as const;
const amountNames = Object.keys(amounts) as (keyof typeof amounts)[];

/** The sums of a tenant's entries up to one of them, in the order of their times. */
interface LedgerSums extends Record<keyof typeof amounts, string> {
  /** The time of the last entry, as PostgreSQL writes it. */
  at: string;
  key: string;
  phase: number;
  /** Whether the accounts were found to agree with them. */
  isProven: boolean;
}

const noSums: LedgerSums = {
  at: '-infinity',
  key: '',
  phase: 0,
  monthly: '0',
  lasting: '0',
  held: '0',
  spent: '0',
  lapsed: '0',
  issued: '0',
  reservations: '0',
  isProven: false,
};

const position = { at: 'text', key: 'text', phase: 'smallint' } as const;

const sumPage = systemStatement({
  name: 'credit.sum_page',
  parameters: {
    ...tenantColumns,
    at: 'timestamptz',
    key: 'text',
    phase: 'smallint',
    before: 'timestamptz',
    limit: 'int',
  },
  // The position is that of the last entry; a page without entries has none.
  row: { at: 'text?', key: 'text?', phase: 'smallint?', entries: 'int', ...amounts },
  text: `with page as materialized (
     select created_at, key, phase, monthly, lasting, held, spent, lapsed, issued from credit_entry
      where organization_id = :organizationId and environment = :environment
        and (created_at, key, phase) > (:at, :key, :phase) and created_at < :before
      order by created_at, key, phase limit :limit),
   summed as (
     select count(*)::int as entries, coalesce(sum(monthly), 0)::bigint as monthly,
            coalesce(sum(lasting), 0)::bigint as lasting, coalesce(sum(held), 0)::bigint as held,
            coalesce(sum(spent), 0)::bigint as spent, coalesce(sum(lapsed), 0)::bigint as lapsed,
            coalesce(sum(issued), 0)::bigint as issued,
            count(*) filter (where phase = 1) - count(*) filter (where phase = 2) as reservations
       from page)
   select last.created_at::text as at, last.key, last.phase, summed.* from summed
     left join (select * from page order by created_at desc, key desc, phase desc limit 1) last on true`,
});

/** Entries per statement, so that none comes near its time limit, even where each is read from a slow disk. */
const pageSize = 2_000;

/** Adds the entries that follow, which are older than `before`. */
async function addPage(
  sql: Sql,
  tenant: Tenant,
  sums: LedgerSums,
  before: Date | string,
): Promise<{ sums: LedgerSums; isFull: boolean }> {
  const { at, key, phase } = sums;
  const page = (await sql.one(sumPage, { ...tenant, at, key, phase, before, limit: pageSize }))!;
  const added = { ...sums };
  for (const name of amountNames) added[name] = String(BigInt(sums[name]) + BigInt(page[name]));
  if (page.at !== null) Object.assign(added, { at: page.at, key: page.key, phase: page.phase });
  return { sums: added, isFull: page.entries === pageSize };
}

// Entries and accounts of an organization that is being removed go one after the other.
const findAccount = systemStatement({
  name: 'credit.checked_account',
  parameters: tenantColumns,
  row: { ...amounts, reserved: 'bigint', isPurged: 'boolean' },
  text: `select coalesce(monthly, 0) as monthly, coalesce(lasting, 0) as lasting, coalesce(held, 0) as held,
          coalesce(spent, 0) as spent, coalesce(lapsed, 0) as lapsed, coalesce(issued, 0) as issued,
          holds.reservations, holds.reserved,
          exists (select from organization o where o.id = :organizationId and o.purging_at is not null) as "isPurged"
     from (select count(*) as reservations, coalesce(sum(h.monthly + h.lasting), 0)::bigint as reserved
             from credit_hold h where h.organization_id = :organizationId and h.environment = :environment) as holds
     left join credit_account on organization_id = :organizationId and environment = :environment`,
});

/** Compares a tenant's accounts with its ledger, of which a part is summed already. All pages see one moment. */
export const compareAccounts = (database: Database, tenant: Tenant, summed = noSums): Promise<LedgerFault[]> =>
  systemSnapshot(database, async (sql) => {
    const account = (await sql.one(findAccount, tenant))!;
    if (account.isPurged) return [];
    let page = { sums: summed, isFull: true };
    while (page.isFull) page = await addPage(sql, tenant, page.sums, 'infinity');
    const { sums } = page;
    const faults: LedgerFault[] = [];
    const differs = amountNames.filter((name) => account[name] !== sums[name]);
    if (differs.some((name) => name !== 'reservations'))
      faults.push({ ...tenant, fault: 'account differs from entries' });
    if (account.held !== account.reserved) faults.push({ ...tenant, fault: 'held differs from open reservations' });
    if (differs.includes('reservations')) faults.push({ ...tenant, fault: 'reservation is neither open nor ended' });
    return faults;
  });

const findSums = systemStatement({
  name: 'credit.sums',
  parameters: tenantColumns,
  row: { ...position, ...amounts, isProven: 'boolean' },
  text: `select last_at::text as at, last_key as key, last_phase as phase,
          monthly, lasting, held, spent, lapsed, issued, reservations, is_proven as "isProven"
     from ledger_sum where organization_id = :organizationId and environment = :environment`,
});

const storeSums = systemStatement({
  name: 'credit.store_sums',
  parameters: {
    ...tenantColumns,
    at: 'timestamptz',
    key: 'text',
    phase: 'smallint',
    ...amounts,
    isProven: 'boolean',
  },
  text: `insert into ledger_sum (organization_id, environment, last_at, last_key, last_phase,
                            monthly, lasting, held, spent, lapsed, issued, reservations, is_proven)
   values (:organizationId, :environment, :at, :key, :phase, :monthly, :lasting, :held, :spent, :lapsed, :issued,
           :reservations, :isProven)
   on conflict (organization_id, environment) do update
     set last_at = excluded.last_at, last_key = excluded.last_key, last_phase = excluded.last_phase,
         monthly = excluded.monthly, lasting = excluded.lasting, held = excluded.held, spent = excluded.spent,
         lapsed = excluded.lapsed, issued = excluded.issued, reservations = excluded.reservations,
         is_proven = excluded.is_proven`,
});

const forgetSums = systemStatement({
  name: 'credit.forget_sums',
  parameters: tenantColumns,
  text: 'delete from ledger_sum where organization_id = :organizationId and environment = :environment',
});

/**
 * An entry has the time at which its transaction asked for it: all of this age are committed. The sums of a ledger with
 * a later one differ, and are then made anew.
 */
const settledAfterMs = 600_000;

/**
 * Verifies a tenant's ledger. Entries never change, so the sums of old ones are kept, and each check reads what was
 * added since the one before. Accounts that differ are compared with the whole ledger before that is a fault.
 * @param mayContinue asked after each page; the next call continues where this one stopped
 * @returns undefined if it stopped
 */
export async function checkAccounts(
  database: Database,
  tenant: Tenant,
  mayContinue: () => boolean,
): Promise<LedgerFault[] | undefined> {
  const sql = sqlOn(database.pool);
  const before = new Date(clock.now() - settledAfterMs);
  for (let kept = (await sql.one(findSums, tenant)) ?? noSums; ; kept = noSums) {
    let sums = kept;
    // The rest is no full page, and is not kept: most tenants have no more than that.
    for (let page = await addPage(sql, tenant, sums, before); page.isFull; ) {
      sums = page.sums;
      if (!mayContinue()) {
        await sql.rows(storeSums, { ...tenant, ...sums });
        return undefined;
      }
      page = await addPage(sql, tenant, sums, before);
    }
    const faults = await compareAccounts(database, tenant, sums);
    if (faults.length === 0) {
      const isNew = sums !== kept || !sums.isProven;
      if (sums !== noSums && isNew) await sql.rows(storeSums, { ...tenant, ...sums, isProven: true });
      return faults;
    }
    await sql.rows(forgetSums, tenant);
    if (!kept.isProven) return faults;
  }
}
