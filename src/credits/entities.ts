import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';

const tenant = { organizationId: p.uuid().primary(), environment: p.string().length(4).primary() };

/**
 * A tenant's accounts, as columns of one row. Every transfer locks this row, and PostgreSQL checks with every change that
 * the accounts sum to zero and that only `issued`, the source of all credits, is negative.
 */
export const CreditAccount = defineEntity({
  name: 'CreditAccount',
  tableName: 'credit_account',
  filters: { tenant: tenantFilter },
  properties: {
    ...tenant,
    /** The plan at the last check for due grants. */
    plan: p.string().length(20),
    /** Period of the latest plan grant: `2026-11`, or `once` in the test environment. Never decreases. */
    period: p.string().length(7),
    /** Total plan grant of that period. A larger plan in the same period adds the difference. */
    periodGrant: p.integer(),
    /** Monthly credits of an Enterprise organization that override the plan's. */
    ownGrant: p.integer().nullable(),
    /** Remaining plan grant; expires at the end of its month. */
    monthly: p.bigint(),
    /** Remaining grants that do not expire. */
    lasting: p.bigint(),
    /** Reserved for work in progress. */
    held: p.bigint(),
    /** Charged for completed work. */
    spent: p.bigint(),
    /** First day of the latest UTC month in which a reservation ended; null before the first one ended. */
    spentMonth: p.date().nullable(),
    /** What of `spent` was charged before that month. */
    spentBefore: p.bigint().defaultRaw('0'),
    lapsed: p.bigint(),
    issued: p.bigint(),
  },
});
export type CreditAccount = InferEntity<typeof CreditAccount>;

/**
 * The ledger: the change of each account per entry. Entries are only inserted; an account's balance is the sum of its
 * column. The unique key with `phase` makes each entry idempotent: 0 is a grant or its expiry, 1 a reservation, 2 its end.
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
    /** The operation that the credits pay for; null for grants and their expiry. */
    operation: p.string().length(40).nullable(),
    monthly: p.integer(),
    lasting: p.integer(),
    held: p.integer(),
    spent: p.integer(),
    lapsed: p.integer(),
    issued: p.integer(),
    /** The operator's reason for a grant. */
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
    {
      name: 'credit_entry_statement_index',
      properties: ['organizationId', 'environment', 'createdAt', 'key', 'phase'],
    },
  ],
});
export type CreditEntry = InferEntity<typeof CreditEntry>;

/**
 * The sums of a tenant's entries up to one of them, in the order of their times: each check of the ledger reads those
 * that follow. Only tenants with many entries have a row.
 */
export const LedgerSum = defineEntity({
  name: 'LedgerSum',
  tableName: 'ledger_sum',
  filters: { tenant: tenantFilter },
  properties: {
    ...tenant,
    lastAt: p.datetime(),
    lastKey: p.string().length(200),
    lastPhase: p.smallint(),
    monthly: p.bigint(),
    lasting: p.bigint(),
    held: p.bigint(),
    spent: p.bigint(),
    lapsed: p.bigint(),
    issued: p.bigint(),
    /** How many of the entries' reservations have not ended. */
    reservations: p.bigint(),
    /** Whether the accounts were found to agree with them. */
    isProven: p.boolean(),
  },
});
export type LedgerSum = InferEntity<typeof LedgerSum>;

/** Time and result of the last check of the ledger, and the progress of the present one. One row. */
export const LedgerCheck = defineEntity({
  name: 'LedgerCheck',
  tableName: 'ledger_check',
  properties: {
    name: p.string().length(20).primary(),
    dueAt: p.datetime(),
    checkedAt: p.datetime().nullable(),
    faults: p.integer().nullable(),
    /** The tenant that was checked last, while tenants are left. */
    checkedOrganizationId: p.uuid().nullable(),
    checkedEnvironment: p.string().length(4).nullable(),
    /** Faults so far. */
    found: p.integer().default(0),
    /** Tenants so far that could not be checked. */
    unchecked: p.integer().default(0),
  },
});
export type LedgerCheck = InferEntity<typeof LedgerCheck>;

/** A reservation that has not ended. Deleting the row ends it, so that it ends once. */
export const CreditHold = defineEntity({
  name: 'CreditHold',
  tableName: 'credit_hold',
  filters: { tenant: tenantFilter },
  properties: {
    ...tenant,
    key: p.string().length(200).primary(),
    operation: p.string().length(40),
    /** The key that requested the work; null without a key. */
    keyId: p.uuid().nullable(),
    /** The accounts the credits came from and return to. */
    monthly: p.integer(),
    lasting: p.integer(),
    /** The period of the grant in `monthly`. After its end these credits expire instead of returning. */
    period: p.string().length(7),
    expiresAt: p.datetime(),
  },
  indexes: [{ properties: ['expiresAt'] }],
});
export type CreditHold = InferEntity<typeof CreditHold>;
