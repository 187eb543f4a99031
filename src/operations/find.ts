import { type LedgerEntry, ledgerEntriesOf } from '../credits/index.ts';
import type { Database } from '../platform/database/database.ts';
import { Scope } from '../platform/database/scope.ts';
import { AppError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import {
  type FindableRows,
  type FoundRow,
  findRowById,
  findRowsByCorrelation,
  printedId,
} from '../platform/parts/findable.ts';
import { organizationIds } from '../tenancy/core/ids.ts';

/** The kind of a piece of work, its state and the reason for the state. */
export interface Found {
  kind: string;
  id: string;
  organization: string;
  environment: string;
  correlationId: string | null;
  /** In Temporal; null for rows without a workflow. */
  workflowId: string | null;
  state: string;
  reason: string | null;
  /** Entries of the credit ledger. */
  entries: LedgerEntry[];
}

const notFound = (text: string) =>
  new AppError('not_found', `Nothing has the id or the correlation id "${text.slice(0, 200)}".`);

async function viewOf(database: Database, rows: FindableRows, row: FoundRow): Promise<Found> {
  const { organizationId, environment } = row;
  const scope = new Scope(database, { organizationId, environment }, newId(), 'operator');
  return {
    kind: rows.kind,
    id: printedId(rows, row.id),
    organization: organizationIds.format(organizationId),
    environment,
    correlationId: row.correlationId,
    workflowId: rows.workflowId?.(row.id) ?? null,
    state: row.state,
    reason: row.reason,
    entries: rows.creditKey ? await ledgerEntriesOf(scope, rows.creditKey(row.id)) : [],
  };
}

/**
 * Everything that has this id or that this correlation id caused, of all tenants. Rows that were found by their id are
 * followed by what else their correlation id caused.
 * @throws AppError not_found
 */
export async function findWork(
  database: Database,
  findables: readonly FindableRows[],
  text: string,
): Promise<{ found: Found[] }> {
  const found = new Map<string, Found>();
  const correlations = new Set([text]);
  const add = async (rows: FindableRows, row: FoundRow) => {
    const name = `${rows.kind} ${row.id}`;
    if (!found.has(name)) found.set(name, await viewOf(database, rows, row));
  };
  for (const rows of findables) {
    const row = await findRowById(database, rows, text);
    if (!row) continue;
    await add(rows, row);
    if (row.correlationId !== null) correlations.add(row.correlationId);
  }
  for (const correlationId of correlations) {
    for (const rows of findables) {
      for (const row of await findRowsByCorrelation(database, rows, correlationId)) await add(rows, row);
    }
  }
  if (found.size === 0) throw notFound(text);
  return { found: [...found.values()] };
}

/** One row with everything that helps to understand it. @throws AppError not_found */
export async function showWork(database: Database, rows: FindableRows, id: string): Promise<object> {
  if (rows.describe) return rows.describe(database, id);
  const row = await findRowById(database, rows, id);
  const words = rows.kind.replaceAll(/[-_]/g, ' ');
  if (!row) throw new AppError('not_found', `There is no ${words} with the id "${id.slice(0, 200)}".`);
  return { ...(await viewOf(database, rows, row)), ...row.facts };
}
