import type { QueryResultRow } from 'pg';
import type { Database } from '../platform/database/database.ts';
import { type Statement, sqlOn } from '../platform/database/sql.ts';
import type { Log } from '../platform/observability/log.ts';
import type { TemporalClient } from './client.ts';
import type { Queue } from './contracts/queues.ts';

/** Temporal lists a workflow some time after its end, and its clock may differ from ours. */
const lateMs = 60_000;

/** Workflows of one type, each of which works for a row and records its end there. */
interface WatchedWorkflows<Row extends QueryResultRow, Result> {
  queue: Queue;
  type: string;
  /** The id of the workflow of a row. It ends with the row's. */
  workflowId(rowId: string): string;
  /** Whether any row is open. */
  hasOpen: Statement<{ found: boolean }, Record<never, never>>;
  /** Those rows that are open. */
  findOpen: Statement<Row, { readonly ids: readonly string[] }>;
  /**
   * Ends rows that are open although their workflow stopped. A workflow that an operator reset is listed as terminated,
   * and its successor has the same id: the state of each must be checked first.
   */
  end(rows: Row[]): Promise<Result>;
}

/** @throws Error when Temporal does not answer in time */
async function stoppedIds(
  temporal: TemporalClient,
  { queue, type, workflowId }: Pick<WatchedWorkflows<never, never>, 'queue' | 'type' | 'workflowId'>,
  since: Date,
): Promise<string[]> {
  const ids = await temporal.workflowIds(
    `TaskQueue = '${temporal.taskQueue(queue)}' AND WorkflowType = '${type}'
       AND ExecutionStatus IN ('Terminated', 'TimedOut') AND CloseTime >= '${since.toISOString()}'`,
  );
  const prefix = workflowId('');
  return [...new Set(ids)].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
}

/**
 * Returns a function that ends the rows whose workflows were terminated or timed out since its last successful call;
 * the first call looks back one minute. It sends Temporal one query for all of them, and none while no row is open,
 * because Temporal searches its whole history.
 */
export function watchStopped<Row extends QueryResultRow, Result>(
  { database, temporal }: { database: Database; temporal: TemporalClient },
  watched: WatchedWorkflows<Row, Result>,
): () => Promise<Result> {
  let lookedAt = Date.now();
  return async () => {
    const sql = sqlOn(database.pool);
    const since = new Date(lookedAt - lateMs);
    const now = Date.now();
    const [open] = await sql.rows(watched.hasOpen);
    const ids = open?.found ? await stoppedIds(temporal, watched, since) : [];
    const rows = ids.length === 0 ? [] : await sql.rows(watched.findOpen, { ids });
    const result = await watched.end(rows);
    lookedAt = now;
    return result;
  };
}

/** As `watchStopped`, with an end for each row by itself. The function returns how many rows it ended. */
export const watchEachStopped = <Row extends QueryResultRow & { id: string }>(
  services: { database: Database; temporal: TemporalClient; log: Log },
  { end, ...watched }: Omit<WatchedWorkflows<Row, number>, 'end'> & { end(row: Row): Promise<boolean> },
): (() => Promise<number>) =>
  watchStopped(services, {
    ...watched,
    async end(rows) {
      let ended = 0;
      for (const row of rows) {
        const workflowId = watched.workflowId(row.id);
        if ((await services.temporal.state(workflowId)) === 'open' || !(await end(row))) continue;
        const facts: object = { workflow: watched.type, workflowId, ...row };
        services.log.warn(facts, 'workflow terminated: its row was ended');
        ended++;
      }
      return ended;
    },
  });
