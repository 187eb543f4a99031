import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';

/** An entry of the ledger: by how much it changed each account. */
export interface LedgerEntry {
  key: string;
  /** granted, lapsed, held, settled, voided or expired */
  step: string;
  /** What the credits pay for; null for grants and their expiry. */
  operation: string | null;
  monthly: number;
  lasting: number;
  held: number;
  spent: number;
  lapsed: number;
  issued: number;
  /** The operator's reason for a grant. */
  reason: string | null;
  createdAt: Date;
}

const columns =
  'key, step, operation, monthly, lasting, held, spent, lapsed, issued, reason, created_at as "createdAt"';

const ofKey = statement<LedgerEntry>(
  'credit.entries_of_key',
  `select ${columns} from credit_entry where organization_id = $1 and environment = $2 and key = $3 order by phase`,
);

const latest = statement<LedgerEntry>(
  'credit.latest_entries',
  `select ${columns} from credit_entry where organization_id = $1 and environment = $2
    order by created_at desc, key, phase desc limit $3`,
);

/** The entries of one piece of work, in their order. */
export const ledgerEntriesOf = (scope: Scope, key: string): Promise<LedgerEntry[]> => scope.rows(ofKey, key);

/** A tenant's entries, newest first. */
export const latestLedgerEntries = (scope: Scope, limit: number): Promise<LedgerEntry[]> => scope.rows(latest, limit);
