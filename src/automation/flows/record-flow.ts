import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { recordPatiently } from '../../platform/database/database-errors.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Files, StoredFile } from '../../storage/index.ts';
import { type AskedModel, openRun, type RunError, type StepCounts } from '../core/run-status.ts';
import type { Step } from '../core/steps.ts';
import type { Warning } from '../core/template.ts';
import { failPoint } from '../fail-points.ts';
import type { RecordedOutput } from '../runs/run-records.ts';
import { isNextWrite } from './fence.ts';
import { type BegunRow, type RecordedRow, recordFlow } from './record-sql.ts';
import { enforceWaitLimits, type WaitLimits } from './wait-limits.ts';
import { lockEventNames, type NewWait, openWait } from './waits.ts';

interface LeafFacts {
  position: number;
  /** Dotted. */
  path: string;
  step: Step;
  startedAt: Date;
  /** The first model of the step, or the one that answered. */
  provider?: string | undefined;
  model?: string | undefined;
}

/** A step that begins, or begins to wait. */
interface BegunRecord extends LeafFacts {
  status: 'running' | 'waiting';
  /** The number of branches or items of a container. */
  total?: number | undefined;
  keyRunId?: string | undefined;
}

/** How a step ended. */
export interface EndRecord extends LeafFacts {
  finishedAt: Date;
  warnings: Warning[];
  warningsTotal: number;
  models?: AskedModel[] | undefined;
  tokensUsed?: number | undefined;
  counts?: StepCounts | undefined;
  status: 'completed' | 'failed' | 'cancelled';
  /** Absent where there is none; a container that failed keeps its output. */
  output?: RecordedOutput | undefined;
  error?: RunError | undefined;
}

export type FlowRecord = BegunRecord | EndRecord;

const isEnd = (record: FlowRecord): record is EndRecord => 'finishedAt' in record;

/** As JSON. */
function rowOf(record: FlowRecord): string {
  const { position, path, step, startedAt, provider, model, status } = record;
  const facts = { position, path, step_id: step.id, name: step.name, status, provider, model, started_at: startedAt };
  if (!isEnd(record)) {
    const { total, keyRunId } = record;
    const counts = total === undefined ? undefined : { total };
    return JSON.stringify({ ...facts, attempts: 1, warnings: [], counts, key_run_id: keyRunId });
  }
  const { finishedAt, warnings, warningsTotal, models, tokensUsed, counts, output, error } = record;
  const row = JSON.stringify({
    ...facts,
    attempts: 1,
    warnings,
    warnings_total: warningsTotal,
    models,
    tokens_used: tokensUsed,
    counts,
    error,
    finished_at: finishedAt,
    duration_ms: finishedAt.getTime() - startedAt.getTime(),
    output_bytes: output?.bytes,
    output_file: output && 'file' in output ? output.file.name : undefined,
  });
  return output && 'json' in output ? `${row.slice(0, -1)},"output":${output.json}}` : row;
}

/** What one transaction writes of a flow. */
export interface FlowWrite {
  runId: string;
  /** That the run has while no other execution has taken it over. The write adds one. */
  fence: number;
  records: readonly FlowRecord[];
  waits: readonly Omit<NewWait, 'runId'>[];
  /** Finished and known leaves. */
  progress: { finished: number; known: number };
  /** Whether all that is open waits. */
  isWaiting: boolean;
  /** Absent where it cannot exceed any. */
  limits?: WaitLimits | undefined;
  /** Absent while steps remain. */
  end?: { status: 'completed'; result: string | null } | { status: 'failed'; error: RunError } | undefined;
  /** Channel of another process that waits for the run, notified in the same transaction. */
  notify: string | null;
}

/** Rows that are written as JSON at a time: a millisecond or two. */
const rowsTogether = 200;

/** As a list in JSON. */
async function rowsOf(work: BoundedWork, records: readonly FlowRecord[]): Promise<string> {
  const parts: string[] = [];
  for (let at = 0; at < records.length; at += rowsTogether) {
    if (at > 0) await work.nextRound();
    parts.push(
      records
        .slice(at, at + rowsTogether)
        .map(rowOf)
        .join(','),
    );
  }
  return `[${parts.join(',')}]`;
}

function write(on: Scope, steps: string, { runId, fence, records, progress, isWaiting, end, notify }: FlowWrite) {
  return on.one(recordFlow, {
    runId,
    steps,
    fence,
    status: end?.status ?? 'running',
    error: end?.status === 'failed' ? JSON.stringify(end.error) : null,
    currentStep: records.at(-1)?.step.id ?? null,
    finished: progress.finished,
    known: progress.known,
    resultPath: end?.status === 'completed' ? end.result : null,
    notify,
    isWaiting,
  });
}

// Until the commit nothing ends the run, and no other execution of it begins.
const holdFlow = statement({
  name: 'flow.hold',
  parameters: { runId: 'uuid', fence: 'int' },
  row: { id: 'uuid' },
  text: `select id from run
    where organization_id = :organizationId and environment = :environment and id = :runId and status in (${openRun}) and fence = :fence for update`,
});

interface RecordServices {
  files: Files;
  boundedWork: BoundedWork;
}

/** What a write has led to. */
type RecordedSteps = Pick<RecordedRow, 'waiting' | 'begun'>;

// Waits for a write whose connection was lost and that PostgreSQL still executes.
const lockFence = statement({
  name: 'flow.lock_fence',
  parameters: { runId: 'uuid' },
  row: { fence: 'int', isOpen: 'boolean' },
  text: `select fence, status in (${openRun}) as "isOpen" from run
    where organization_id = :organizationId and environment = :environment and id = :runId for update`,
});

const findBegun = statement({
  name: 'flow.begun',
  parameters: { runId: 'uuid', positions: 'int[]' },
  row: { position: 'int', attempts: 'int', rounds: 'smallint', ageMs: 'float8' },
  text: `select position, attempts, rounds, extract(epoch from atelier_now() - started_at)::float8 * 1000 as "ageMs" from run_step
    where organization_id = :organizationId and environment = :environment and run_id = :runId
      and position = any(:positions) and status = 'running'`,
});

/**
 * The result of a write that was committed, and whose answer was lost. Runs that wait for the slot of a run that has ended get
 * it when the totals are looked at.
 * @returns undefined when the run is over, or another execution has taken it over
 */
async function readWritten(
  scope: Scope,
  { runId, fence, records, end }: FlowWrite,
  now: { fence: number; isOpen: boolean },
): Promise<RecordedSteps | undefined> {
  if (!isNextWrite(fence, now.fence) || now.isOpen === (end !== undefined)) return undefined;
  const positions = records.flatMap((one) => (one.status === 'running' ? [one.position] : []));
  const begun: BegunRow[] = positions.length > 0 ? await scope.rows(findBegun, { runId, positions }) : [];
  return { waiting: null, begun };
}

/**
 * Records steps that began and ended, what begins to wait, and the end of the run, in one transaction. The files of large outputs are
 * recorded with them. An interruption of the database of some seconds is waited out, because the calls under way would be
 * lost with the execution.
 * @param also further work of the same transaction, before the steps are recorded; done again after a rollback
 * @returns undefined when the run is over, or another execution has taken it over
 * @throws WaitLimitReached; then nothing is written
 */
export function recordFlowSteps(
  services: RecordServices,
  scope: Scope,
  given: FlowWrite,
  also?: (tx: Transaction) => Promise<void>,
): Promise<RecordedSteps | undefined> {
  return recordPatiently(async (isRepeated) => {
    if (isRepeated) {
      const now = await scope.one(lockFence, { runId: given.runId });
      if (now?.fence !== given.fence) return now && readWritten(scope, given, now);
    }
    return recordOnce(services, scope, given, also);
  });
}

async function recordOnce(
  { files, boundedWork }: RecordServices,
  scope: Scope,
  given: FlowWrite,
  also?: (tx: Transaction) => Promise<void>,
): Promise<RecordedRow | undefined> {
  const { records, waits, runId, fence, limits } = given;
  const stored = records.flatMap((one): StoredFile[] =>
    isEnd(one) && one.output && 'file' in one.output ? [one.output.file] : [],
  );
  const steps = await rowsOf(boundedWork, records);
  if (stored.length === 0 && waits.length === 0 && !also && !limits) return write(scope, steps, given);
  const written = await scope.transaction(async (tx) => {
    if (!(await tx.one(holdFlow, { runId, fence }))) return undefined;
    await also?.(tx);
    await lockEventNames(tx, waits);
    for (const wait of waits) await openWait(tx, { runId, ...wait });
    for (const file of stored) await files.record(tx, file);
    const recorded = await write(tx, steps, given);
    const unused = stored.map(({ name }) => name).filter((name) => !recorded?.files?.includes(name));
    if (unused.length > 0) await files.remove(tx, unused);
    const approvals = waits.filter(({ type }) => type === 'approval').length;
    if (recorded && limits) await enforceWaitLimits(tx, limits, approvals);
    if (waits.length > 0) failPoint('wait.before-commit');
    return recorded;
  });
  if (waits.length > 0) failPoint('wait.opened');
  return written;
}
