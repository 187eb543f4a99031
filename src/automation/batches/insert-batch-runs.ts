import type { Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { enqueueSql } from '../../platform/outbox/enqueue.ts';
import { countRuns, keyOfActor } from '../../tenancy/index.ts';
import { workflowInactive } from '../errors.ts';
import { createdRuns } from '../runs/events-and-use.ts';
import { bytesOf, insertTagsSql, type NewRun, rareColumns, rareInsert, rareOf, toJson } from '../runs/insert-run.ts';

/** A run of a batch, and whether its group has no slot for it. */
export interface BatchRun {
  run: NewRun & { runId: string };
  isOverLimit: boolean;
}

// As the statement that inserts one run, for many: one change of the workflow takes all numbers.
const insertRuns = statement({
  name: 'batch.insert_runs',
  parameters: { automationId: 'uuid', runs: 'json', correlationId: 'text', keyId: 'uuid?' },
  row: { count: 'int' },
  text: `with given as (
     select * from json_to_recordset(:runs) as g (
       position int, id uuid, definition_id uuid, input json, variables json, input_bytes int, variables_bytes int,
       total_steps int, ${rareColumns})),
   numbered as (
     update automation set total_runs = total_runs + (select count(*) from given)
      where organization_id = :organizationId and environment = :environment and id = :automationId and state = 'active' and deleted_at is null
      returning total_runs - (select count(*) from given) as before, is_paused),
   inserted as (
     insert into run (id, organization_id, environment, automation_id, definition_id, number, status, input, variables,
                      input_bytes, variables_bytes, finished_steps, total_steps, correlation_id, key_id, created_at,
                      ${rareInsert.columns})
     select id, :organizationId, :environment, :automationId, definition_id, before + position, 'queued', input, variables, input_bytes,
            variables_bytes, 0, total_steps, :correlationId, :keyId, atelier_now(), ${rareInsert.values}
       from numbered cross join given order by position
     returning id, queued_for, tags, created_at),
   counted as (${countRuns('inserted')}),
   ${insertTagsSql('(select * from inserted where tags is not null)')},
   beginning as (select id from inserted where queued_for is null),
   enqueued as (${enqueueSql('run.start', { subject: 'id', correlation: ':correlationId', from: 'beginning', due: 'now' })})
   select count(*)::int as count from inserted`,
  counts: ({ count }, { automationId }) => createdRuns(automationId, count),
  enqueues: 'drain',
});

function rowOf({ run, isOverLimit }: BatchRun, index: number, batchId: string): string {
  const [input, variables] = [toJson(run.input), toJson(run.variables)];
  const facts = JSON.stringify({
    position: index + 1,
    id: run.runId,
    definition_id: run.definitionId,
    total_steps: run.totalSteps,
    input_bytes: bytesOf(input),
    variables_bytes: bytesOf(variables),
    ...rareOf(run, isOverLimit, batchId),
  });
  // JSON that is written already is put in as it is.
  return `${facts.slice(0, -1)},"input":${input ?? 'null'},"variables":${variables}}`;
}

/** @throws AppError workflow_inactive when the workflow was changed since it was read */
export async function insertBatchRuns(
  tx: Transaction,
  automationId: string,
  batchId: string,
  runs: readonly BatchRun[],
): Promise<void> {
  if (runs.length === 0) return;
  const rows = runs.map((run, index) => rowOf(run, index, batchId));
  const { correlationId, actor } = tx;
  const keyId = keyOfActor(actor);
  const inserted = await tx.one(insertRuns, { automationId, runs: `[${rows.join(',')}]`, correlationId, keyId });
  if (inserted!.count !== runs.length) throw workflowInactive(automationId);
}
