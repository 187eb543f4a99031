import { clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { type FieldError, invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { operator } from '../platform/security/audit.ts';
import type { Environment } from '../platform/tenant.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { findOrganization } from '../tenancy/index.ts';
import { currentGrant, type GivenGrant, isGrantDue, type Standing } from './core/grants.ts';

/** An organization's accounts, and the data that determines its plan grants. */
export interface AccountState {
  standing: Standing;
  /** Absent before the tenant's first grant. */
  given: GivenGrant | undefined;
  available: number;
  reserved: number;
}

const readAccount = statement({
  name: 'credit.account',
  row: {
    plan: typed<PlanName>('text'),
    ownGrant: 'int?',
    givenPlan: typed<PlanName>('text'),
    period: 'text?',
    periodGrant: 'int',
    available: 'float8',
    reserved: 'float8',
  },
  text: `select o.plan, a.own_grant as "ownGrant", a.plan as "givenPlan", a.period,
          a.period_grant as "periodGrant",
          coalesce(a.monthly + a.lasting, 0)::float8 as available, coalesce(a.held, 0)::float8 as reserved
     from organization o left join credit_account a on a.organization_id = :organizationId
       and a.environment = :environment
    where o.id = :organizationId`,
});

const openAccount = statement({
  name: 'credit.open_account',
  text: `insert into credit_account (organization_id, environment, plan, period, period_grant,
                               monthly, lasting, held, spent, lapsed, issued)
   values (:organizationId, :environment, '', '', 0, 0, 0, 0, 0, 0, 0)
   on conflict do nothing`,
});

// The rest of an earlier period's grant lapses, and the grant of the present period, or the rest of it, is given: one
// statement, and only for the transaction that finds it due once it has the account's lock. The new row is computed
// from the locked row, as in reserve.
const giveGrant = statement({
  name: 'credit.give_grant',
  parameters: { period: 'text', amount: 'int', lasts: 'boolean', now: 'timestamptz', plan: 'text' },
  text: `with account as materialized (
     select period, period_grant, monthly, lasting, held, spent, lapsed, issued from credit_account
      where organization_id = :organizationId and environment = :environment
        and (period < :period or (period = :period and (period_grant < :amount or plan <> :plan)))
        for no key update),
   lapse as (
     insert into credit_entry (organization_id, environment, key, phase, step,
                               monthly, lasting, held, spent, lapsed, issued, created_at)
     select :organizationId, :environment, 'lapse ' || period, 0, 'lapsed', -monthly, 0, 0, 0, monthly, 0, :now
       from account where period < :period and monthly > 0
     returning monthly, lapsed),
   due as (
     select case when period < :period then 'grant ' || :period
       else 'grant ' || :period || ' up to ' || :amount end as key,
            case when period < :period then :amount else :amount - period_grant end as amount
       from account),
   given as (
     insert into credit_entry (organization_id, environment, key, phase, step,
                               monthly, lasting, held, spent, lapsed, issued, created_at)
     select :organizationId, :environment, key, 0, 'granted',
            case when :lasts then 0 else amount end, case when :lasts then amount else 0 end, 0, 0, 0, -amount, :now
       from due where amount > 0
     returning monthly, lasting, issued)
   update credit_account a
      set plan = :plan, period = :period,
          period_grant = case when account.period < :period then :amount
            else greatest(account.period_grant, :amount) end,
          monthly = account.monthly + coalesce(lapse.monthly, 0) + coalesce(given.monthly, 0),
          lasting = account.lasting + coalesce(given.lasting, 0),
          lapsed = account.lapsed + coalesce(lapse.lapsed, 0),
          issued = account.issued + coalesce(given.issued, 0),
          held = account.held, spent = account.spent
     from account left join lapse on true left join given on true
    where a.organization_id = :organizationId and a.environment = :environment`,
});

/** @returns undefined if the organization does not exist */
export async function readAccountState(scope: Scope): Promise<AccountState | undefined> {
  const row = await scope.one(readAccount);
  if (!row) return undefined;
  const { plan, ownGrant, givenPlan, period, periodGrant, available, reserved } = row;
  return {
    standing: { environment: scope.tenant.environment, plan, ownGrant },
    given: period === null ? undefined : { plan: givenPlan, period, periodGrant },
    available,
    reserved,
  };
}

/**
 * Applies a tenant's due plan grant: the test grant, this month's grant, or its difference after a change of plan. Each is
 * applied once, also under concurrency. Grants are applied on access, so no schedule is needed.
 * @returns whether a grant was due
 */
export async function giveDueGrants(scope: Scope, now: Date): Promise<boolean> {
  const state = await readAccountState(scope);
  if (!state) throw new Error(`There is no organization ${scope.tenant.organizationId}.`);
  const grant = currentGrant(state.standing, now);
  if (!isGrantDue(state.given, state.standing, grant)) return false;
  if (!state.given) await scope.rows(openAccount);
  await scope.rows(giveGrant, {
    period: grant.period,
    amount: grant.amount,
    lasts: grant.lasts,
    now,
    plan: state.standing.plan,
  });
  return true;
}

const addGrant = statement({
  name: 'credit.add_grant',
  parameters: { key: 'text', amount: 'int', reason: 'text?', now: 'timestamptz' },
  row: { granted: 'int' },
  text: `with entry as (
     insert into credit_entry (organization_id, environment, key, phase, step,
                               monthly, lasting, held, spent, lapsed, issued, reason, created_at)
     values (:organizationId, :environment, :key, 0, 'granted', 0, :amount, 0, 0, 0, -:amount, :reason, :now)
     on conflict do nothing
     returning lasting)
   update credit_account a set lasting = a.lasting + entry.lasting, issued = a.issued - entry.lasting
     from entry where a.organization_id = :organizationId and a.environment = :environment
   returning entry.lasting as granted`,
});

interface OperatorGrant {
  /** `org_…` or uuid. */
  organizationId: string;
  environment: string;
  /** Whole credits, at least 1. */
  amount: number;
  reason?: string | undefined;
  /** Idempotency key: the same key grants once. A new one by default. */
  key?: string;
}

const largestGrant = 1_000_000_000;

function check({ environment, amount, reason }: OperatorGrant): void {
  const errors: FieldError[] = [];
  if (environment !== 'live' && environment !== 'test') {
    errors.push({ path: 'environment', message: 'Expected live or test.' });
  }
  if (!(Number.isInteger(amount) && amount >= 1 && amount <= largestGrant)) {
    errors.push({ path: 'amount', message: 'Expected a whole number from 1 to 1,000,000,000.' });
  }
  if (reason !== undefined && (reason.trim() === '' || reason.length > 200)) {
    errors.push({ path: 'reason', message: 'Expected 1 to 200 characters.' });
  }
  if (errors.length > 0) throw invalid(errors, errors.map((error) => `${error.path}: ${error.message}`).join(' '));
}

/**
 * Grants credits that do not expire, on behalf of an operator.
 * @returns the tenant's scope
 * @throws AppError validation_error, not_found (no such organization)
 */
export async function grantCredits(database: Database, grant: OperatorGrant, now = clock.date()): Promise<Scope> {
  check(grant);
  const scope = await operatorScope(database, grant.organizationId, grant.environment as Environment);
  await scope.rows(openAccount);
  const { organizationId } = scope.tenant;
  const { key = newId(), amount, reason = null } = grant;
  await scope.transaction(async (tx) => {
    if (!(await tx.one(addGrant, { key, amount, reason, now }))) return;
    await tx.audit({ action: 'credits.grant', subjectId: organizationId, facts: { amount, reason } });
  });
  return scope;
}

/** The scope of a tenant that an operator specified. @throws AppError validation_error, not_found */
export async function operatorScope(database: Database, organizationId: string, environment: string): Promise<Scope> {
  if (environment !== 'live' && environment !== 'test') {
    throw invalid([{ path: 'environment', message: 'Expected live or test.' }], 'environment: Expected live or test.');
  }
  const { id } = await findOrganization(database, organizationId);
  return new Scope(database, { organizationId: id, environment }, newId(), operator);
}

const setOwnGrant = statement({
  name: 'credit.set_own_grant',
  parameters: { monthlyCredits: 'int?' },
  text: `update credit_account set own_grant = :monthlyCredits where organization_id = :organizationId
    and environment = :environment`,
});

/**
 * Overrides the monthly credits of an Enterprise organization; null restores the plan's. An increase takes effect
 * immediately, a decrease with the next month.
 * @throws AppError validation_error, not_found
 */
export async function setMonthlyGrant(
  database: Database,
  organizationId: string,
  monthlyCredits: number | null,
  now = clock.date(),
): Promise<void> {
  if (
    monthlyCredits !== null &&
    !(Number.isInteger(monthlyCredits) && monthlyCredits >= 0 && monthlyCredits <= largestGrant)
  ) {
    const message = 'Expected a whole number from 0 to 1,000,000,000.';
    throw invalid([{ path: 'monthlyCredits', message }], `monthlyCredits: ${message}`);
  }
  const scope = await operatorScope(database, organizationId, 'live');
  await scope.rows(openAccount);
  const { organizationId: subjectId } = scope.tenant;
  await scope.transaction(async (tx) => {
    await tx.rows(setOwnGrant, { monthlyCredits });
    await tx.audit({ action: 'credits.monthly', subjectId, facts: { monthlyCredits } });
  });
  await giveDueGrants(scope, now);
}
