import type { ResourceId } from '../core/ids.ts';
import type { Database } from '../database/database.ts';
import { sqlOn, systemStatement } from '../database/sql.ts';
import { type Declaration, type RowWith, typed } from '../database/sql-types.ts';
import type { Environment } from '../tenant.ts';

/**
 * How operators find the rows of a table, of all tenants, by their id, by the id of their workflow in Temporal, or by
 * the correlation id of their cause. The parts of SQL name the row `r`. They show no text of a tenant.
 */
export interface FindableRows {
  /** One word, which is also the name of the command that shows a row: `generation`. */
  kind: string;
  table: string;
  /** The forms of its ids, the one to print first; none: plain uuids. */
  ids?: readonly ResourceId[];
  /** An expression for the state. */
  state: string;
  /** An expression for the reason of its state: null without one. */
  reason: string;
  /** A JSON object with what else helps to understand it. */
  facts: string;
  /** An expression for its correlation id, unless the row has it; null where it has none. */
  correlation?: string | null;
  /** A condition that finds rows by the correlation id `:correlationId`, where an equation with `correlation` would be slow. */
  byCorrelation?: string;
  /** The id of its workflow, or of its Schedule, in Temporal. */
  workflowId?(id: string): string;
  /**
   * Shows a row in a form of its own instead of the common one. The text is an id in any form. @throws AppError
   * not_found
   */
  describe?(database: Database, text: string): Promise<object>;
  /** The key of its entries in the credit ledger. */
  creditKey?(id: string): string;
  /** How callers find the rows of their own environment; absent where they do not. */
  search?: SearchableRows;
}

/** The shown part of a row in a search, and how it is found besides by its id. The parts of SQL name the row `r`. */
export interface SearchableRows {
  /** The scope that reads such rows. */
  scope: string;
  title: string;
  at: string;
  /** An expression for the id as callers write it, where rows of one table have several forms. */
  printedId?: string;
  /** An expression for the printed id of the resource that the row's path begins with; absent if rows have none. */
  parentId?: string;
  /** A condition for the rows that callers still see. */
  isShown?: string;
  /** Conditions on `:text`, each with an index of the tenant. */
  by: Readonly<Record<string, string>>;
}

const foundRow = {
  id: 'uuid',
  organizationId: 'uuid',
  environment: typed<Environment>('text'),
  correlationId: 'text?',
  state: 'text',
  reason: 'text?',
  facts: typed<Record<string, unknown>>('jsonb'),
} as const satisfies Declaration;

export type FoundRow = RowWith<typeof foundRow>;

/** A request makes some rows of a kind; more are of no use to a reader. */
const maxFound = 50;

function statementsOf({ kind, table, state, reason, facts, byCorrelation, ...rows }: FindableRows) {
  const correlation = rows.correlation === undefined ? 'r.correlation_id' : rows.correlation;
  const select = (condition: string) =>
    `select r.id, r.organization_id as "organizationId", r.environment, ${correlation ?? 'null'} as "correlationId",
            ${state} as state, ${reason} as reason, ${facts} as facts
       from ${table} r where ${condition} order by r.id limit ${maxFound}`;
  const same = correlation === null ? undefined : `${correlation} = :correlationId`;
  const condition = byCorrelation ?? same;
  return {
    byId: systemStatement({
      name: `find.${kind}`,
      parameters: { id: 'uuid' },
      row: foundRow,
      text: select('r.id = :id'),
    }),
    byCorrelation:
      condition === undefined
        ? undefined
        : systemStatement({
            name: `find.${kind}.correlation`,
            parameters: { correlationId: 'text' },
            row: foundRow,
            text: select(condition),
          }),
  };
}

/** The id in a text: a uuid, a prefixed id of these rows, or the id of their workflow. */
export function idIn({ ids, workflowId }: FindableRows, text: string): string | undefined {
  const prefix = workflowId?.('');
  // A workflow of a Schedule has the time after it.
  if (prefix && text.startsWith(prefix)) return uuidOf(text.slice(prefix.length, prefix.length + uuidLength));
  for (const form of ids ?? []) {
    const id = form.parse(text);
    if (id) return id;
  }
  return uuidOf(text);
}

const uuidLength = 36;

const uuidOf = (text: string): string | undefined =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? text.toLowerCase() : undefined;

/** @returns undefined where the text is no id of these rows, or there is no such row */
export async function findRowById({ pool }: Database, rows: FindableRows, text: string): Promise<FoundRow | undefined> {
  const id = idIn(rows, text);
  return id === undefined ? undefined : sqlOn(pool).one(statementsOf(rows).byId, { id });
}

/** The rows that something with this correlation id caused. */
export async function findRowsByCorrelation(
  { pool }: Database,
  rows: FindableRows,
  correlationId: string,
): Promise<FoundRow[]> {
  const { byCorrelation } = statementsOf(rows);
  return byCorrelation ? sqlOn(pool).rows(byCorrelation, { correlationId }) : [];
}

/** A row's id as it is printed. */
export const printedId = ({ ids }: FindableRows, id: string): string => ids?.[0]?.format(id) ?? id;
