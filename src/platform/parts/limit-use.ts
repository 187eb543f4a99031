/**
 * How much of a limit a tenant uses, as scalar expressions of SQL over `:organizationId` and `:environment`. Each reads a
 * counter, or counts at most `maxCounted` entries of an index.
 */
export interface LimitUse {
  /** The used amount; null if nothing is used. */
  used?: string;
  /** The remaining amount, if that is the stored value; null if nothing is used. */
  left?: string;
  /** A number of the organization that counts in place of the plan's; null where it has none. */
  allowed?: string;
  /** When the count begins again. */
  resets?: 'day' | 'month';
}

/** More than these are not counted: reading the limits stays cheap. */
export const maxCounted = 100_000;

/** Counts rows of the tenant. @param from a table and, after `where`, further conditions that end with `and` */
export const countOfTenant = (from: string): string =>
  `(select count(*) from (
     select from ${from} organization_id = :organizationId and environment = :environment limit ${maxCounted}) as counted)`;

/** A column of a row that each tenant has one of. */
export const ofTenant = (column: string, table: string): string =>
  `(select ${column} from ${table} where organization_id = :organizationId and environment = :environment)`;
