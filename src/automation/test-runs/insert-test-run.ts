import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { enqueueSql } from '../../platform/outbox/enqueue.ts';
import { type Mocks, maxTestDescendants } from '../core/mocks.ts';
import { defaultPriority } from '../core/starts.ts';
import { workflowNotFound } from '../errors.ts';
import { failPoint } from '../fail-points.ts';
import { type NewRun, toJson } from '../runs/insert-run.ts';
import type { RunStart } from '../runs/run-workflows.ts';

// Test runs are numbered downwards from 0, so that the numbers of the others have no gaps.
const insert = statement({
  name: 'run.insert_test',
  parameters: {
    runId: 'uuid',
    automationId: 'uuid',
    definitionId: 'uuid',
    input: 'json?',
    variables: 'json?',
    inputBytes: 'int?',
    variablesBytes: 'int?',
    totalSteps: 'int',
    correlationId: 'text',
    triggerType: 'text',
    triggeredBy: 'json?',
    tags: 'jsonb?',
    metadata: 'json?',
    parentRunId: 'uuid?',
    parentPath: 'text?',
    rootRunId: 'uuid?',
    depth: 'smallint',
    priority: 'smallint',
    mocks: 'json?',
  },
  row: { id: 'uuid' },
  text: `with numbered as (
     select a.id, least((select min(number) from run where automation_id = a.id), 0) - 1 as number from automation a
      where a.organization_id = :organizationId and a.environment = :environment and a.id = :automationId
        and a.deleted_at is null),
   inserted as (
     insert into run (id, organization_id, environment, automation_id, definition_id, number, status, input, variables,
                      input_bytes, variables_bytes, first_position, finished_steps, total_steps, correlation_id, created_at,
                      tags, metadata, trigger_type, triggered_by, parent_run_id, parent_path, root_run_id, depth, priority,
                      is_test, mocks)
     select :runId, :organizationId, :environment, id, :definitionId, number, 'queued', :input, :variables, :inputBytes,
            :variablesBytes, 0, 0, :totalSteps, :correlationId, atelier_now(), :tags, :metadata, :triggerType,
            :triggeredBy, :parentRunId, :parentPath, :rootRunId, :depth, :priority, true, :mocks
       from numbered
     returning id),
   enqueued as (${enqueueSql('run.start', { subject: 'id', correlation: ':correlationId', from: 'inserted' })})
   select id from inserted`,
  enqueues: { 'run.start': ({ id }) => ({ subjectId: id }) },
});

const countDescendants = statement({
  name: 'run.count_test_descendants',
  parameters: { rootRunId: 'uuid', limit: 'int' },
  row: { count: 'int' },
  text: `select count(*)::int as count from (
     select from run
      where root_run_id = :rootRunId and is_test and organization_id = :organizationId and environment = :environment
      limit :limit) descendant`,
});

/**
 * Nothing else counts the runs that a tested run starts, which may be ten thousand for each level.
 * @throws AppError rate_limit_exceeded
 */
async function checkDescendants(tx: Transaction, rootRunId: string): Promise<void> {
  await lockForTransaction(tx, `test-root ${rootRunId}`);
  const { count } = (await tx.one(countDescendants, { rootRunId, limit: maxTestDescendants }))!;
  if (count < maxTestDescendants) return;
  throw new AppError('rate_limit_exceeded', `A tested run starts at most ${maxTestDescendants} runs.`);
}

const bytesOf = (json: string | null) => (json === null ? null : Buffer.byteLength(json));

/**
 * Writes a test run, which begins at once: neither a pause nor a limit of its workflow holds it back, and it counts nowhere.
 * @throws AppError workflow_not_found; rate_limit_exceeded when the tested run has started too many
 */
export async function insertTestRun(
  scope: Scope,
  claim: IdempotencyClaim | undefined,
  run: NewRun & { mocks: Mocks },
  start: Omit<RunStart, 'runId' | 'automationId'>,
): Promise<{ runId: string; replayed: boolean }> {
  const { automationId, definitionId, totalSteps, options = {}, trigger = { type: 'api' }, parent, mocks } = run;
  const made = { id: newId() };
  const [input, variables] = [toJson(run.input), toJson(run.variables)];
  const { outcome, replayed } = await scope.transaction(
    async (tx) => {
      await lockForTransaction(tx, `test-run ${automationId}`);
      if (parent) await checkDescendants(tx, parent.rootRunId);
      tx.hint('run.start', made.id, { ...start, runId: made.id, automationId, isTest: true } satisfies RunStart);
      const inserted = await tx.one(insert, {
        runId: made.id,
        automationId,
        definitionId,
        input,
        variables,
        inputBytes: bytesOf(input),
        variablesBytes: bytesOf(variables),
        totalSteps,
        correlationId: scope.correlationId,
        triggerType: trigger.type,
        triggeredBy: toJson(trigger.facts) ?? null,
        tags: options.tags?.length ? JSON.stringify(options.tags) : null,
        metadata: toJson(options.metadata),
        parentRunId: parent?.runId ?? null,
        parentPath: parent?.path ?? null,
        rootRunId: parent?.rootRunId ?? null,
        depth: parent?.depth ?? 1,
        priority: options.priority ?? defaultPriority,
        mocks: JSON.stringify(mocks),
      });
      if (!inserted) throw workflowNotFound(run.namedAs);
      failPoint('run.before-commit');
      return made;
    },
    { claim, outcome: made },
  );
  if (!replayed) failPoint('run.committed');
  return { runId: outcome.id, replayed };
}
