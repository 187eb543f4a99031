import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';

/** An entry of the ledger: by how much it changed each account. */
export interface LedgerEntry {
  key: string;
  /** granted, lapsed, held, settled, voided or expired */
  step: string;
  /** The purpose of the credits; null for grants and their expiry. */
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

const ledgerEntryColumns = {
  key: 'text',
  step: 'text',
  operation: 'text?',
  monthly: 'int',
  lasting: 'int',
  held: 'int',
  spent: 'int',
  lapsed: 'int',
  issued: 'int',
  reason: 'text?',
  createdAt: 'timestamptz',
} as const;

const ofKey = statement({
  name: 'credit.entries_of_key',
  parameters: { key: 'text' },
  row: ledgerEntryColumns,
  text: `select ${columns} from credit_entry where organization_id = :organizationId and environment = :environment
    and key = :key order by phase`,
});

const latest = statement({
  name: 'credit.latest_entries',
  parameters: { limit: 'int' },
  row: ledgerEntryColumns,
  text: `select ${columns} from credit_entry where organization_id = :organizationId and environment = :environment
    order by created_at desc, key, phase desc limit :limit`,
});

const page = statement({
  name: 'credit.entries_page',
  parameters: { beforeAt: 'timestamptz', beforeKey: 'text', beforePhase: 'smallint', limit: 'int' },
  row: { ...ledgerEntryColumns, phase: 'smallint', at: 'text' },
  text: `select ${columns}, phase, created_at::text as at from credit_entry
    where organization_id = :organizationId and environment = :environment
      and (created_at, key, phase) < (:beforeAt, :beforeKey, :beforePhase)
    order by created_at desc, key desc, phase desc limit :limit`,
});

/** Where a page of entries ends. */
export interface EntryPosition {
  /** As PostgreSQL writes it, to the microsecond. */
  at: string;
  key: string;
  phase: number;
}

const end: EntryPosition = { at: 'infinity', key: '', phase: 0 };

/** A tenant's entries, newest first, with the position of the last one where there are more. */
export async function pageOfLedger(
  scope: Scope,
  { limit, after = end }: { limit: number; after?: EntryPosition | undefined },
): Promise<{ entries: LedgerEntry[]; next: EntryPosition | null }> {
  const asked = { beforeAt: after.at, beforeKey: after.key, beforePhase: after.phase, limit: limit + 1 };
  const rows = await scope.rows(page, asked);
  const entries = rows.slice(0, limit);
  const last = entries.at(-1);
  return { entries, next: rows.length > limit && last ? { at: last.at, key: last.key, phase: last.phase } : null };
}

/** The entries of one piece of work, in their order. */
export const ledgerEntriesOf = (scope: Scope, key: string): Promise<LedgerEntry[]> => scope.rows(ofKey, { key });

/** A tenant's entries, newest first. */
export const latestLedgerEntries = (scope: Scope, limit: number): Promise<LedgerEntry[]> =>
  scope.rows(latest, { limit });
