import type { Database } from '../platform/database.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';

/** A tenant whose accounts are not what its ledger says. */
export interface LedgerFault extends Tenant {
  fault:
    | 'account differs from entries'
    | 'held differs from open reservations'
    | 'reservation is neither open nor ended';
}

// What constraints cannot say because it is about many rows. Reads the whole ledger.
const findFaults = statement<LedgerFault>(
  'credit.faults',
  `with summed as (
     select organization_id, environment, sum(monthly) as monthly, sum(lasting) as lasting, sum(held) as held,
            sum(spent) as spent, sum(lapsed) as lapsed, sum(issued) as issued
       from credit_entry group by 1, 2),
   holds as (
     select organization_id, environment, sum(monthly + lasting) as held from credit_hold group by 1, 2)
   select organization_id as "organizationId", environment, 'account differs from entries' as fault
     from credit_account a full join summed s using (organization_id, environment)
    where (coalesce(a.monthly, 0), coalesce(a.lasting, 0), coalesce(a.held, 0), coalesce(a.spent, 0),
           coalesce(a.lapsed, 0), coalesce(a.issued, 0))
       is distinct from (coalesce(s.monthly, 0), coalesce(s.lasting, 0), coalesce(s.held, 0), coalesce(s.spent, 0),
           coalesce(s.lapsed, 0), coalesce(s.issued, 0))
   union all
   select organization_id, environment, 'held differs from open reservations'
     from credit_account a full join holds h using (organization_id, environment)
    where coalesce(a.held, 0) <> coalesce(h.held, 0)
   union all
   select distinct opened.organization_id, opened.environment, 'reservation is neither open nor ended'
     from credit_entry opened
     left join credit_entry ended on ended.organization_id = opened.organization_id
       and ended.environment = opened.environment and ended.key = opened.key and ended.phase = 2
     left join credit_hold hold on hold.organization_id = opened.organization_id
       and hold.environment = opened.environment and hold.key = opened.key
    where opened.phase = 1 and (ended.key is null) = (hold.key is null)`,
);

/** Proves the ledger, across all tenants. An empty list is the only good answer. */
export const findLedgerFaults = (database: Database): Promise<LedgerFault[]> => sqlOn(database.pool).rows(findFaults);
