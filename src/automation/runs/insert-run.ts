import { clock } from '../../platform/clock.ts';
import type { IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { newId } from '../../platform/ids.ts';
import { enqueueSql } from '../../platform/outbox/enqueue.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { countRuns, keyOfActor } from '../../tenancy/index.ts';
import {
  type Concurrency,
  defaultPriority,
  type QueueReason,
  type TriggerFacts,
  type TriggerType,
} from '../core/starts.ts';
import { workflowInactive, workflowNotFound } from '../errors.ts';
import { failPoint } from '../fail-points.ts';
import { decideStart, supersede } from '../starts/admission.ts';
import { enforceQueueLimit } from '../starts/queue-limit.ts';
import { createdRuns } from './events-and-use.ts';
import type { RunStart } from './run-workflows.ts';

/** How a run is started, apart from its workflow and its input. */
export interface RunOptions {
  tags?: readonly string[] | undefined;
  metadata?: Record<string, unknown> | undefined;
  /** In milliseconds. */
  delayMs?: number | undefined;
  startAt?: Date | undefined;
  /** In milliseconds, from its creation or from the end of its delay. */
  expiresInMs?: number | undefined;
  /** 1 is first, within the organization. */
  priority?: number | undefined;
  /** The version of its workflow; the current one unless given. */
  version?: number | undefined;
}

/** What started a run. */
export interface RunTrigger {
  type: TriggerType;
  facts?: TriggerFacts;
}

/** The step that starts a run. */
export interface ParentOfRun {
  runId: string;
  path: string;
  rootRunId: string;
  /** The depth of the child. */
  depth: number;
}

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
  options?: RunOptions | undefined;
  trigger?: RunTrigger | undefined;
  parent?: ParentOfRun | undefined;
  /** Its concurrency group, and the rule of its definition. */
  group?: { id: string; concurrency: Concurrency } | undefined;
  maxDurationSeconds?: number | null | undefined;
  /** Whether its workflow was paused when it was read. */
  isPaused?: boolean;
  /** The plan, when its workflow was remembered and not read: the run is created only if both are as they were. */
  rememberedPlan?: PlanName | undefined;
}

/** Members of `NewRun` that most runs do not have, as the statement reads them. */
interface RareColumns {
  tags: readonly string[] | null;
  metadata: Record<string, unknown> | null;
  trigger_type: TriggerType;
  triggered_by: TriggerFacts | null;
  parent_run_id: string | null;
  parent_path: string | null;
  root_run_id: string | null;
  depth: number;
  batch_id: string | null;
  scheduled_for: Date | null;
  expires_in_ms: number | null;
  priority: number;
  concurrency_group: string | null;
  is_over_limit: boolean;
  max_duration_seconds: number | null;
}

/** The types that the statement reads them with. */
export const rareColumns = `tags jsonb, metadata json, trigger_type text, triggered_by json, parent_run_id uuid, parent_path text,
       root_run_id uuid, depth smallint, batch_id uuid, scheduled_for timestamptz, expires_in_ms float8, priority smallint,
       concurrency_group uuid, is_over_limit boolean, max_duration_seconds int`;

/** Why a run may not begin: the first reason that applies. */
const queuedForSql = `case when scheduled_for > atelier_now() then 'delay' when is_paused then 'paused'
                                  when is_over_limit then 'concurrency' end`;

/** The columns and values of the rare members of a run. */
export const rareInsert = {
  columns: `tags, metadata, trigger_type, triggered_by, parent_run_id, parent_path, root_run_id, depth, batch_id,
                      scheduled_for, expires_at, priority, concurrency_group, max_duration_seconds, queued_for, slot`,
  values: `tags, metadata, trigger_type, triggered_by, parent_run_id, parent_path, root_run_id, depth, batch_id, scheduled_for,
            coalesce(scheduled_for, atelier_now()) + make_interval(secs => expires_in_ms / 1000), priority,
            concurrency_group, max_duration_seconds, ${queuedForSql},
            case when concurrency_group is not null and ${queuedForSql} is null then 'held' end`,
};

/** A CTE that makes the tags of new runs findable. @param inserted a CTE with the columns id, tags and created_at */
export const insertTagsSql = (inserted: string) => `
   tagged as (
     insert into run_tag (run_id, tag, organization_id, environment, created_at)
     select distinct i.id, t.tag, :organizationId, :environment, i.created_at
       from ${inserted} i cross join jsonb_array_elements_text(i.tags) as t (tag))`;

// One statement checks that the automation is active, takes its next run number and decides whether the run may begin.
const insertRun = statement({
  name: 'run.insert',
  parameters: {
    automationId: 'uuid',
    runId: 'uuid',
    definitionId: 'uuid',
    input: 'json?',
    variables: 'json?',
    totalSteps: 'int',
    correlationId: 'text',
    firstPosition: 'int',
    retryOf: 'uuid?',
    inputBytes: 'int?',
    variablesBytes: 'int?',
    rare: 'json',
    rememberedPlan: 'text?',
    keyId: 'uuid?',
  },
  row: { id: 'uuid', queuedFor: typed<QueueReason | null>('text?') },
  text: `with numbered as (
     update automation set total_runs = total_runs + 1
      where organization_id = :organizationId and environment = :environment and id = :automationId and state = 'active' and deleted_at is null
        and (:rememberedPlan is null
             or definition_id = :definitionId and not is_paused
                and exists (select from organization where id = :organizationId and plan = :rememberedPlan))
      returning total_runs as number, is_paused),
   inserted as (
     insert into run (id, organization_id, environment, automation_id, definition_id, number, status, input, variables,
                      input_bytes, variables_bytes, first_position, retry_of, finished_steps, total_steps, correlation_id, key_id, created_at,
                      ${rareInsert.columns})
     select :runId, :organizationId, :environment, :automationId, :definitionId, number, 'queued', :input, :variables, :inputBytes, :variablesBytes,
            :firstPosition, :retryOf,
            0, :totalSteps, :correlationId, :keyId, atelier_now(), ${rareInsert.values}
       from numbered cross join json_to_record(:rare) as rare (${rareColumns})
     returning id, queued_for, tags, created_at),
   counted as (${countRuns('inserted')}),
   ${insertTagsSql('(select * from inserted where tags is not null)')},
   beginning as (select id from inserted where queued_for is null),
   enqueued as (${enqueueSql('run.start', { subject: 'id', correlation: ':correlationId', from: 'beginning' })})
   select id, queued_for as "queuedFor" from inserted`,
  counts: (_, { automationId }) => createdRuns(automationId, 1),
  // The statement that records the run's end deletes the entry.
  enqueues: { 'run.start': ({ id, queuedFor }) => (queuedFor ? undefined : { subjectId: id }) },
});

const findState = statement({
  name: 'run.automation_state',
  parameters: { automationId: 'uuid' },
  row: { state: 'text' },
  text: `select state from automation where organization_id = :organizationId and environment = :environment and id = :automationId and deleted_at is null`,
});

/** Bytes of JSON, in UTF-8. */
export const bytesOf = (json: string | null): number | null => (json === null ? null : Buffer.byteLength(json));

export const toJson = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

const startOf = ({ delayMs, startAt }: RunOptions): Date | null =>
  startAt ?? (delayMs ? new Date(clock.now() + delayMs) : null);

export const isDelayed = (options: RunOptions = {}): boolean => (startOf(options)?.getTime() ?? 0) > clock.now();

/** The rare members of a run. A start in the past is now. */
export function rareOf(
  { options = {}, trigger = { type: 'api' }, parent, group, maxDurationSeconds }: NewRun,
  isOverLimit: boolean,
  batchId: string | null = null,
): RareColumns {
  return {
    tags: options.tags?.length ? options.tags : null,
    metadata: options.metadata ?? null,
    trigger_type: trigger.type,
    triggered_by: trigger.facts ?? null,
    parent_run_id: parent?.runId ?? null,
    parent_path: parent?.path ?? null,
    root_run_id: parent?.rootRunId ?? null,
    depth: parent?.depth ?? 1,
    batch_id: batchId,
    scheduled_for: isDelayed(options) ? startOf(options) : null,
    expires_in_ms: options.expiresInMs ?? null,
    priority: options.priority ?? defaultPriority,
    concurrency_group: group?.id ?? null,
    is_over_limit: isOverLimit,
    max_duration_seconds: maxDurationSeconds ?? null,
  };
}

/** What most runs have. */
const nothingRare = JSON.stringify(rareOf({} as NewRun, false));

/** What became of a start. */
export type InsertedRun =
  | { kind: 'created'; runId: string; replayed: boolean; queuedFor: QueueReason | null; superseded: string[] }
  | { kind: 'skipped' };

class Skipped extends Error {}

/** The workflow or the plan is not as it was remembered. */
export class Outdated extends Error {}

/**
 * Writes a run: its row, the claim of its Idempotency-Key and the outbox entry that starts it commit together. Runs that may
 * not begin have no entry.
 * @param start arguments of the workflow's start, for the attempt right after the commit
 * @param also further work in the same transaction
 * @returns the run's id, and whether an earlier request with the same key made it; `skipped` when its workflow skips runs
 *   over its limit
 * @throws Outdated
 * @throws AppError workflow_inactive or workflow_not_found when the workflow was changed since it was read; forbidden when
 *   the plan includes no further run that waits to begin
 */
export async function insertNewRun(
  scope: Scope,
  claim: IdempotencyClaim | undefined,
  run: NewRun,
  start: Omit<RunStart, 'runId' | 'automationId'>,
  also?: (tx: Transaction, runId: string) => Promise<void>,
): Promise<InsertedRun> {
  const runId = newId();
  const { automationId, group, options } = run;
  const mayQueue = isDelayed(options) || run.isPaused === true;
  let queuedFor: QueueReason | null = null;
  let superseded: string[] = [];
  const insert = async (on: Scope, isOverLimit: boolean) => {
    const [input, variables] = [toJson(run.input), toJson(run.variables)];
    on.hint('run.start', runId, { ...start, runId, automationId } satisfies RunStart);
    const inserted = await on.one(insertRun, {
      automationId,
      runId,
      definitionId: run.definitionId,
      input,
      variables,
      totalSteps: run.totalSteps,
      correlationId: scope.correlationId,
      firstPosition: run.retry?.firstPosition ?? 0,
      retryOf: run.retry?.of ?? null,
      inputBytes: bytesOf(input),
      variablesBytes: bytesOf(variables),
      rare: isPlain(run) ? nothingRare : JSON.stringify(rareOf(run, isOverLimit)),
      rememberedPlan: run.rememberedPlan ?? null,
      keyId: keyOfActor(scope.actor),
    });
    if (inserted) queuedFor = inserted.queuedFor;
    else if (run.rememberedPlan) throw new Outdated();
    else
      throw (await on.one(findState, { automationId })) ? workflowInactive(run.namedAs) : workflowNotFound(run.namedAs);
  };
  const made = { id: runId };
  const insertWithRest = async (tx: Transaction) => {
    let isOverLimit = false;
    if (group && !mayQueue) {
      const { id, concurrency } = group;
      const parentRunId = run.parent?.runId;
      const decision = await decideStart(tx, { automationId, group: id, concurrency, parentRunId });
      if (decision.kind === 'skip') throw new Skipped();
      if (decision.kind === 'supersede') superseded = await supersede(tx, decision.runIds);
      isOverLimit = decision.kind === 'queue';
    }
    if (mayQueue || isOverLimit) await enforceQueueLimit(tx);
    await insert(tx, isOverLimit);
    await also?.(tx, runId);
    failPoint('run.before-commit');
    return made;
  };
  const needsTransaction = claim || also || group || mayQueue;
  try {
    // Otherwise the single statement is the transaction.
    const { outcome, replayed } = needsTransaction
      ? await scope.transaction(insertWithRest, { claim, outcome: made })
      : await insert(scope, false).then(() => ({ outcome: made, replayed: false }));
    if (!replayed) failPoint('run.committed');
    return { kind: 'created', runId: outcome.id, replayed, queuedFor, superseded };
  } catch (error) {
    if (error instanceof Skipped) return { kind: 'skipped' };
    throw error;
  }
}

const isPlain = ({ options, trigger, parent, group, maxDurationSeconds }: NewRun): boolean =>
  !options && !trigger && !parent && !group && !maxDurationSeconds;
