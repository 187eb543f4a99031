/**
 * How the rows of a table are bounded: what limits their number, when a sweep removes them, or with which row they go. A
 * table that tenants fill has at least one of the three; a test checks them against the plans, the sweeps, the statements
 * and the foreign keys that exist.
 */
export interface RowBound {
  /** The largest number of rows: a number of the plan, for each environment, or the same number for all. */
  max?: { plan: string } | { rows: number; of: string };
  /** The sweep, or the kind of outbox entries, that removes rows, and after what. */
  retention?: { by: string; after: string };
  /** The table with whose row it is removed: by a foreign key that cascades, or by statements, which are named. */
  removedWith?: { table: string; by: 'foreign key' | readonly string[] };
  /** Only operators add rows: the role of tenants' work has no right to. */
  operatorsOnly?: true;
  /** Rows that are kept as long as their organization, and why. */
  exempt?: string;
  /**
   * How its rows are removed when their organization is deleted, where that is not by their column `organization_id`: with
   * the rows of another table of the part, by the column that names them; or by the part's own work, before all others.
   */
  purge?: { with: string; column: string } | 'by the part';
}

/**
 * By table. When an organization is deleted, the tables of a part are emptied in this order: rows that refer to others,
 * or whose removal writes to another table, come before them.
 */
export type RowBounds = Readonly<Record<string, RowBound>>;

/** The bounds of the tables that every part uses. */
export const platformRowBounds: RowBounds = {
  idempotency: { retention: { by: 'remove old idempotency keys', after: '24 hours' } },
  // An entry waits once for its kind and subject, and is removed when its work is done.
  outbox: { max: { rows: 1, of: 'kind and subject' } },
  audit_log: { exempt: 'Entries are never changed.' },
};
