import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database.ts';

const tenant = { organizationId: p.uuid().primary(), environment: p.string().length(4).primary() };

/**
 * A tenant's accounts, as columns of one row: whoever moves credits locks one row, and PostgreSQL checks with every
 * change that the accounts sum to zero and that only `issued`, where all credits come from, is below it.
 */
export const CreditAccount = defineEntity({
  name: 'CreditAccount',
  tableName: 'credit_account',
  filters: { tenant: tenantFilter },
  properties: {
    ...tenant,
    /** The plan that was last looked at for grants. */
    plan: p.string().length(20),
    /** What the latest plan grant is for: `2026-11`, or `once` in the test environment. Never goes back. */
    period: p.string().length(7),
    /** The whole plan grant of that period so far; a larger plan in the same period adds the difference. */
    periodGrant: p.integer(),
    /** A month's credits of an Enterprise organization that has a number of its own. */
    ownGrant: p.integer().nullable(),
    /** Left of the plan's grant; lapses when its month is over. */
    monthly: p.bigint(),
    /** Left of grants that stay. */
    lasting: p.bigint(),
    /** Reserved for work that is going on. */
    held: p.bigint(),
    /** Charged for work that was done. */
    spent: p.bigint(),
    lapsed: p.bigint(),
    issued: p.bigint(),
  },
});
export type CreditAccount = InferEntity<typeof CreditAccount>;

/**
 * The ledger: what each account gained and lost in one step. Only ever written, never changed; an account's balance is
 * the sum of its column. `phase` and the key's uniqueness are what make a step happen once: 0 a grant or a lapse,
 * 1 a reservation, 2 its end.
 */
export const CreditEntry = defineEntity({
  name: 'CreditEntry',
  tableName: 'credit_entry',
  filters: { tenant: tenantFilter },
  properties: {
    ...tenant,
    key: p.string().length(200).primary(),
    phase: p.smallint().primary(),
    /** granted, lapsed, held, settled, voided or expired */
    step: p.string().length(8),
    /** What the credits pay for; null for grants and lapses. */
    operation: p.string().length(40).nullable(),
    monthly: p.integer(),
    lasting: p.integer(),
    held: p.integer(),
    spent: p.integer(),
    lapsed: p.integer(),
    issued: p.integer(),
    /** Why an operator granted it. */
    reason: p.string().length(200).nullable(),
    createdAt: p.datetime(),
  },
  indexes: [
    {
      name: 'credit_entry_spent_index',
      properties: ['organizationId', 'environment', 'createdAt'],
      include: ['spent'],
      where: 'spent > 0',
    },
  ],
});
export type CreditEntry = InferEntity<typeof CreditEntry>;

/** When the whole ledger was last proved, and what was found. One row. */
export const LedgerCheck = defineEntity({
  name: 'LedgerCheck',
  tableName: 'ledger_check',
  properties: {
    name: p.string().length(20).primary(),
    dueAt: p.datetime(),
    checkedAt: p.datetime().nullable(),
    faults: p.integer().nullable(),
  },
});
export type LedgerCheck = InferEntity<typeof LedgerCheck>;

/** A reservation that has not ended. Whoever deletes the row ends it. */
export const CreditHold = defineEntity({
  name: 'CreditHold',
  tableName: 'credit_hold',
  filters: { tenant: tenantFilter },
  properties: {
    ...tenant,
    key: p.string().length(200).primary(),
    operation: p.string().length(40),
    /** Where the credits came from and go back to. */
    monthly: p.integer(),
    lasting: p.integer(),
    /** Whose grant `monthly` came from: after that month it does not go back but lapses. */
    period: p.string().length(7),
    expiresAt: p.datetime(),
  },
  indexes: [{ properties: ['expiresAt'] }],
});
export type CreditHold = InferEntity<typeof CreditHold>;
