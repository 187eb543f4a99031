import { enqueueSql } from '../platform/enqueue.ts';
import type { IdempotencyClaim } from '../platform/idempotency.ts';
import { newId } from '../platform/ids.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { countRuns } from '../tenancy/index.ts';
import { workflowInactive, workflowNotFound } from './errors.ts';
import { failPoint } from './fail-points.ts';
import type { RunStart } from './start-run-workflow.ts';

/** A run before it starts. */
export interface NewRun {
  automationId: string;
  definitionId: string;
  /** The workflow's id as the caller wrote it, for errors. */
  namedAs: string;
  input: unknown;
  variables: Record<string, unknown>;
  totalSteps: number;
  /** The run that it retries, and its first position. */
  retry?: { of: string; firstPosition: number };
}

// One statement checks that the automation is active and takes its next run number.
const insertRun = statement<{ id: string }>(
  'run.insert',
  `with numbered as (
     update automation set total_runs = total_runs + 1
      where organization_id = $1 and environment = $2 and id = $3 and state = 'active' and deleted_at is null
      returning total_runs as number),
   inserted as (
     insert into run (id, organization_id, environment, automation_id, definition_id, number, status, input, variables,
                      input_bytes, variables_bytes, first_position, retry_of, finished_steps, total_steps, correlation_id, created_at)
     select $4::uuid, $1::uuid, $2::text, $3::uuid, $5::uuid, number, 'queued', $6::json, $7::json, $12::int, $13::int,
            $10::int, $11::uuid,
            0, $8::int, $9::text, clock_timestamp()
       from numbered
     returning id),
   counted as (${countRuns('inserted')})
   ${enqueueSql('run.start', { subject: 'id', correlation: '$9', from: 'inserted' })}
   returning subject_id as id`,
  // The statement that records the run's end deletes the entry.
  { enqueues: { 'run.start': ({ id }) => ({ subjectId: id }) } },
);

const findState = statement<{ state: string }>(
  'run.automation_state',
  `select state from automation where organization_id = $1 and environment = $2 and id = $3 and deleted_at is null`,
);

const toJson = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

/**
 * Writes a run: its row, the claim of its Idempotency-Key and the outbox entry that starts it commit together.
 * @param start arguments of the workflow's start, for the attempt right after the commit
 * @param also further work in the same transaction
 * @returns the run's id, and whether an earlier request with the same key made it
 * @throws AppError workflow_inactive or workflow_not_found when the workflow was changed since it was read
 */
export async function insertNewRun(
  scope: Scope,
  claim: IdempotencyClaim | undefined,
  run: NewRun,
  start: Omit<RunStart, 'runId' | 'automationId'>,
  also?: (tx: Transaction, runId: string) => Promise<void>,
): Promise<{ runId: string; replayed: boolean }> {
  const runId = newId();
  const { automationId } = run;
  const insert = async (on: Scope) => {
    const [input, variables] = [toJson(run.input), toJson(run.variables)];
    const values = [runId, run.definitionId, input, variables, run.totalSteps];
    const bytes = [input, variables].map((json) => json && Buffer.byteLength(json));
    const from = [run.retry?.firstPosition ?? 0, run.retry?.of ?? null];
    on.hint('run.start', runId, { ...start, runId, automationId } satisfies RunStart);
    if (await on.one(insertRun, automationId, ...values, scope.correlationId, ...from, ...bytes)) return;
    throw (await on.one(findState, automationId)) ? workflowInactive(run.namedAs) : workflowNotFound(run.namedAs);
  };
  const made = { id: runId };
  const insertWithRest = async (tx: Transaction) => {
    await insert(tx);
    await also?.(tx, runId);
    failPoint('run.before-commit');
    return made;
  };
  // Without a key or further work, the single statement is the transaction.
  const { outcome, replayed } =
    claim || also
      ? await scope.transaction(insertWithRest, { claim, outcome: made })
      : await insert(scope).then(() => ({ outcome: made, replayed: false }));
  if (!replayed) failPoint('run.committed');
  return { runId: outcome.id, replayed };
}
