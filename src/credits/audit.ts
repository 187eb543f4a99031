import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { checkAccounts, compareAccounts, type LedgerFault, tenantColumns } from './ledger-sums.ts';

/** A tenant whose ledger could not be checked. */
interface UncheckedLedger extends Tenant {
  error: unknown;
}

interface LedgerCheckResult {
  faults: LedgerFault[];
  unchecked: UncheckedLedger[];
}

const firstTenantOf = (table: string) => `(select organization_id, environment from ${table}
  where (organization_id, environment) > (:organizationId, :environment)
  order by organization_id, environment limit 1)`;

// Entries and reservations without an account are faults, too.
const findNext = systemStatement({
  name: 'credit.next_tenant',
  parameters: { organizationId: 'uuid', environment: 'text' },
  row: tenantColumns,
  text: `select organization_id as "organizationId", environment from (
     ${['credit_account', 'credit_entry', 'credit_hold'].map(firstTenantOf).join(' union all ')}) as first
    order by organization_id, environment limit 1`,
});

/** The position ahead of all tenants. */
const start = { organizationId: '00000000-0000-0000-0000-000000000000', environment: '' };
type Position = typeof start;

/**
 * Verifies the ledger of one tenant after the other. What happens with one does not matter for the next.
 * @param mayContinue asked when something was done; the rest is left to the next call
 * @returns the position at which to continue; null after the last tenant
 */
async function checkTenants(
  database: Database,
  from: Position,
  mayContinue: () => boolean,
): Promise<LedgerCheckResult & { next: Position | null }> {
  const sql = sqlOn(database.pool);
  const result: LedgerCheckResult = { faults: [], unchecked: [] };
  for (let at = from; ; ) {
    const tenant = await sql.one(findNext, at);
    if (!tenant) return { ...result, next: null };
    const check = () => checkAccounts(database, tenant, mayContinue);
    try {
      // Once more, because the database may have been busy.
      const faults = await check().catch(check);
      if (!faults) return { ...result, next: at };
      result.faults.push(...faults);
    } catch (error) {
      result.unchecked.push({ ...tenant, error });
    }
    at = tenant;
    if (!mayContinue()) return { ...result, next: at };
  }
}

/** Verifies every entry of all tenants. @returns the faults; an empty list for a correct ledger */
export async function findLedgerFaults(database: Database): Promise<LedgerFault[]> {
  const sql = sqlOn(database.pool);
  const faults: LedgerFault[] = [];
  for (let tenant = await sql.one(findNext, start); tenant; tenant = await sql.one(findNext, tenant)) {
    faults.push(...(await compareAccounts(database, tenant)));
  }
  return faults;
}

// One process at a time checks the ledger. If it dies, another one takes over after an hour.
const tryLock = systemStatement({
  name: 'credit.check_turn',
  row: { organizationId: 'uuid?', environment: 'text?' },
  text: `insert into ledger_check (name, due_at) values ('credits', atelier_now() + interval '1 hour')
   on conflict (name) do update set due_at = excluded.due_at where ledger_check.due_at <= atelier_now()
   returning checked_organization_id as "organizationId", checked_environment as environment`,
});

const recordProgress = systemStatement({
  name: 'credit.check_progress',
  parameters: { organizationId: 'uuid', environment: 'text', faults: 'int', unchecked: 'int' },
  text: `update ledger_check set due_at = atelier_now(), checked_organization_id = :organizationId,
          checked_environment = :environment, found = found + :faults, unchecked = unchecked + :unchecked
    where name = 'credits'`,
});

// A round that left tenants unchecked is no check of the ledger: it is repeated soon, and its age raises an alert.
const recordCheck = systemStatement({
  name: 'credit.check_record',
  parameters: { faults: 'int', unchecked: 'int' },
  text: `update ledger_check set checked_organization_id = null, checked_environment = null,
          faults = found + :faults, found = 0, unchecked = 0,
          checked_at = case when unchecked + :unchecked = 0 then atelier_now() else checked_at end,
          due_at = atelier_now()
            + case when unchecked + :unchecked = 0 then interval '1 hour' else interval '5 minutes' end
    where name = 'credits'`,
});

const unlock = systemStatement({
  name: 'credit.check_unlock',
  text: `update ledger_check set due_at = atelier_now() where name = 'credits'`,
});

interface CheckOptions {
  /** The time after which the rest is left to the next call: a large ledger is checked in parts, one a minute. */
  budgetMs?: number;
  /** Aborted when the process drains. */
  signal?: AbortSignal;
}

/**
 * Verifies the ledger once an hour, in one of the processes, and stores the number of faults for the gauges.
 * @returns what this call found; undefined if the check is not due
 */
export async function checkLedger(
  database: Database,
  { budgetMs = 10_000, signal }: CheckOptions = {},
): Promise<LedgerCheckResult | undefined> {
  const sql = sqlOn(database.pool);
  const lock = await sql.one(tryLock);
  if (!lock) return undefined;
  const { organizationId, environment } = lock;
  const from = organizationId === null || environment === null ? start : { organizationId, environment };
  const began = performance.now();
  const mayContinue = () => !signal?.aborted && performance.now() - began < budgetMs;
  const { next, faults, unchecked } = await checkTenants(database, from, mayContinue).catch(async (error) => {
    await sql.rows(unlock).catch(() => {});
    throw error;
  });
  const counts = { faults: faults.length, unchecked: unchecked.length };
  if (next) await sql.rows(recordProgress, { ...next, ...counts });
  else await sql.rows(recordCheck, counts);
  return { faults, unchecked };
}
