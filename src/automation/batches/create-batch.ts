import { clock } from '../../platform/clock.ts';
import { lockAllForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import { fingerprintOf, type IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError, invalid, rateLimited } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { enforceLimit, findRateLimits } from '../../tenancy/index.ts';
import { automationLimits } from '../core/limits.ts';
import { workflowInactive } from '../errors.ts';
import { failPoint } from '../fail-points.ts';
import {
  type CreateRunServices,
  findStartableWorkflow,
  prepareRun,
  type RunRequest,
  type Startable,
} from '../runs/create-run.ts';
import { isDelayed, type NewRun, type RunOptions } from '../runs/insert-run.ts';
import { findOldestHolders, findStanding, groupLock } from '../starts/admission.ts';
import { findGroup } from '../starts/concurrency-group.ts';
import { type DayServices, takeRunsOfDay } from '../starts/day-window.ts';
import { endRuns, superseded } from '../starts/end-runs.ts';
import { enforceQueueLimit } from '../starts/queue-limit.ts';
import { type BatchRun, insertBatchRuns } from './insert-batch-runs.ts';

/** One run of a batch. */
export interface BatchItem extends Pick<RunRequest, 'input' | 'variables'> {
  options?: RunOptions | undefined;
  idempotencyKey?: string | undefined;
  /** The request that the key is bound to. */
  body: unknown;
}

interface BatchServices extends CreateRunServices, DayServices {}

export interface NewBatch {
  name: string | null;
  items: readonly BatchItem[];
}

export interface CreatedBatch {
  id: string;
  total: number;
}

/** The key of an item has the scope of the header of `execute` for the same workflow. */
const claimOf = (automationId: string, { idempotencyKey: key, body }: BatchItem): IdempotencyClaim | undefined =>
  key === undefined
    ? undefined
    : { method: 'POST', path: `/api/v1/workflows/${automationId}/execute`, key, fingerprint: fingerprintOf(body) };

const keptHours = 24;

// The key of an earlier request refers to the run of that request, whatever the body was. An expired key is reused.
const takeKeys = statement({
  name: 'batch.take_keys',
  parameters: { path: 'text', keys: 'text[]', fingerprints: 'bytea[]', runIds: 'uuid[]', hours: 'int' },
  row: { key: 'text' },
  text: `insert into idempotency (organization_id, environment, method, path, key, fingerprint, resource_id, outcome, created_at)
   select :organizationId, :environment, 'POST', :path, k.key, k.fingerprint, k.run_id, json_build_object('id', k.run_id),
          atelier_now()
     from unnest(:keys, :fingerprints, :runIds) as k (key, fingerprint, run_id) order by k.key
   on conflict (organization_id, environment, method, path, key) do update
      set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, outcome = excluded.outcome,
          created_at = excluded.created_at
    where idempotency.created_at <= atelier_now() - make_interval(hours => :hours)
   returning key`,
});

const insertBatch = statement({
  name: 'batch.insert',
  parameters: {
    id: 'uuid',
    automationId: 'uuid',
    name: 'text?',
    total: 'int',
    reused: 'int',
    skipped: 'int',
    correlationId: 'text',
  },
  text: `insert into run_batch (id, organization_id, environment, automation_id, name, status, total, reused, skipped, created_at,
                               correlation_id)
   values (:id, :organizationId, :environment, :automationId, :name, 'processing', :total, :reused, :skipped,
           atelier_now(), :correlationId)`,
});

const countOpen = statement({
  name: 'batch.count_open',
  row: { count: 'int' },
  text: `select count(*)::int as count from run_batch
    where organization_id = :organizationId and environment = :environment and completed_at is null`,
});

/** @throws AppError forbidden when the plan includes no further open batch */
async function enforceBatchLimit(sql: Pick<Scope, 'one'>, plan: PlanName): Promise<void> {
  const { count } = (await sql.one(countOpen))!;
  enforceLimit(automationLimits.openBatches, { plan, count }, 'open batches');
}

/** A run of the batch, before it is decided whether it may begin. */
type PreparedRun = NewRun & { runId: string; claim: IdempotencyClaim | undefined };

/** Each item as a run. @throws AppError validation_error, with the place of the item */
async function prepareItems(
  services: BatchServices,
  scope: Scope,
  startable: Startable,
  batchId: string,
  items: readonly BatchItem[],
): Promise<PreparedRun[]> {
  const prepared: PreparedRun[] = [];
  const versions = new Map<number | undefined, Startable>([[undefined, startable]]);
  for (const [index, item] of items.entries()) {
    try {
      const named = item.options?.version;
      const version = versions.get(named) ?? (await findStartableWorkflow(scope, startable.id, named));
      versions.set(named, version);
      const { id: automationId, definitionId, steps, concurrency, maxDurationSeconds, isPaused } = version;
      const values = prepareRun(services, scope.tenant.environment, version, item);
      const group = concurrency
        ? { id: await findGroup(services.boundedWork, scope.tenantKey, automationId, concurrency, values), concurrency }
        : undefined;
      prepared.push({
        runId: newId(),
        claim: claimOf(automationId, item),
        automationId,
        definitionId,
        namedAs: automationId,
        ...values,
        totalSteps: steps.length,
        options: item.options,
        trigger: { type: 'batch', facts: { batchId } },
        group,
        maxDurationSeconds,
        isPaused,
      });
    } catch (error) {
      throw atItem(error, index);
    }
  }
  return prepared;
}

/** A problem of an item says which one it is. */
function atItem(error: unknown, index: number): unknown {
  if (!(error instanceof AppError) || !Array.isArray(error.facts?.errors)) return error;
  const errors = (error.facts.errors as { path: string; message: string }[]).map(({ path, message }) => ({
    path: `items.${index}.${path}`,
    message,
  }));
  return error.code === 'validation_error'
    ? invalid(errors)
    : new AppError(error.kind, error.message, { errors }, { code: error.code });
}

/** The items that own their keys. The others refer to runs of earlier requests, or of earlier items. */
async function takeOwn(tx: Transaction, automationId: string, runs: readonly PreparedRun[]): Promise<PreparedRun[]> {
  const byKey = new Map<string, PreparedRun>();
  for (const run of runs) if (run.claim && !byKey.has(run.claim.key)) byKey.set(run.claim.key, run);
  if (byKey.size === 0) return [...runs];
  const keyed = [...byKey.values()];
  const taken = await tx.rows(takeKeys, {
    path: `/api/v1/workflows/${automationId}/execute`,
    keys: keyed.map(({ claim }) => claim!.key),
    fingerprints: keyed.map(({ claim }) => claim!.fingerprint),
    runIds: keyed.map(({ runId }) => runId),
    hours: keptHours,
  });
  const own = new Set(taken.map(({ key }) => key));
  return runs.filter((run) => !run.claim || (own.has(run.claim.key) && byKey.get(run.claim.key) === run));
}

/** Decides which runs begin, which wait, and which are left out. The groups are held already. */
async function decide(tx: Transaction, runs: readonly PreparedRun[]): Promise<{ runs: BatchRun[]; ended: string[] }> {
  const decided: BatchRun[] = [];
  const ended: string[] = [];
  const byGroup = Map.groupBy(runs, ({ group, options, isPaused }) =>
    isPaused || isDelayed(options) ? undefined : group?.id,
  );
  for (const [group, members] of byGroup) {
    if (group === undefined) {
      decided.push(...members.map((run) => ({ run, isOverLimit: false })));
      continue;
    }
    const { limit, strategy } = members[0]!.group!.concurrency;
    const of = { automationId: members[0]!.automationId, group, parentRunId: null };
    const { held, isAwaited } = (await tx.one(findStanding, of))!;
    const free = isAwaited && strategy === 'queue' ? 0 : Math.max(0, limit - held);
    if (strategy === 'queue') {
      decided.push(...members.map((run, index) => ({ run, isOverLimit: index >= free })));
    } else if (strategy === 'skip') {
      decided.push(...members.slice(0, free).map((run) => ({ run, isOverLimit: false })));
    } else {
      // Only the last ones of the runs that would supersede each other are started.
      const last = members.slice(-limit);
      const count = Math.max(0, last.length - free);
      const oldest = count > 0 ? await tx.rows(findOldestHolders, { group, parentRunId: null, count }) : [];
      ended.push(
        ...(await endRuns(
          tx,
          oldest.map(({ id }) => id),
          superseded,
        )),
      );
      decided.push(...last.map((run) => ({ run, isOverLimit: false })));
    }
  }
  const places = new Map(runs.map((run, index) => [run, index]));
  return { runs: decided.sort((a, b) => places.get(a.run as PreparedRun)! - places.get(b.run as PreparedRun)!), ended };
}

/** @throws AppError rate_limit_exceeded when the day has too few runs left; nothing is counted then */
async function takeOfDay(services: BatchServices, scope: Scope, runs: number): Promise<void> {
  if (await takeRunsOfDay(services, scope, runs)) return;
  const { perDay } = await findRateLimits(services.database, scope.tenant.organizationId);
  const resetAt = Math.floor(clock.now() / 86_400_000 + 1) * 86_400;
  const retryAfter = Math.max(1, resetAt - Math.floor(clock.now() / 1_000));
  throw rateLimited({ window: { name: 'day', text: 'requests per day' }, limit: perDay, resetAt, retryAfter });
}

/**
 * Starts a run for each item, all of them or none, in one transaction. No run is started right after the commit: the
 * drain of the outbox starts the runs, with a share for every organization.
 * @throws AppError workflow_not_found, workflow_inactive, validation_error, rate_limit_exceeded, forbidden
 */
export async function createBatch(
  services: BatchServices,
  scope: Scope,
  workflowId: string,
  { name, items }: NewBatch,
  claim: IdempotencyClaim | undefined,
): Promise<{ outcome: CreatedBatch & { automationId: string }; replayed: boolean }> {
  const startable = await findStartableWorkflow(scope, workflowId);
  if (startable.state !== 'active') throw workflowInactive(workflowId);
  const { id: automationId, plan } = startable;
  // Preparing a thousand items that are refused then would cost more than the refusal. The transaction decides.
  if (!claim) await enforceBatchLimit(scope, plan);
  const id = newId();
  const prepared = await prepareItems(services, scope, startable, id, items);
  let counted = 0;
  let superseding: string[] = [];
  const create = async (tx: Transaction) => {
    const groups = [...new Set(prepared.flatMap(({ group }) => (group ? [groupLock(group.id)] : [])))];
    await lockAllForTransaction(tx, ['batches', ...groups]);
    await enforceBatchLimit(tx, plan);
    const own = await takeOwn(tx, automationId, prepared);
    const { runs, ended } = await decide(tx, own);
    superseding = ended;
    const queued = runs.filter(({ run, isOverLimit }) => isOverLimit || run.isPaused || isDelayed(run.options));
    if (queued.length > 0) await enforceQueueLimit(tx, queued.length);
    // After every refusal, because a refused batch counts in no window. The transaction may be restarted for a lock; counted
    // runs stay counted.
    if (own.length > counted) {
      await takeOfDay(services, scope, own.length - counted);
      counted = own.length;
    }
    await insertBatchRuns(tx, automationId, id, runs);
    const [total, reused] = [items.length, items.length - own.length];
    const skipped = own.length - runs.length;
    await tx.rows(insertBatch, { id, automationId, name, total, reused, skipped, correlationId: scope.correlationId });
    failPoint('batch.before-commit');
    return { id, total, automationId };
  };
  const made = await scope.transaction(create, { claim });
  failPoint('batch.committed');
  for (const runId of superseding) {
    services.waiters.notifyLocal(runId);
    services.countRunEnd('cancelled');
  }
  return made;
}
