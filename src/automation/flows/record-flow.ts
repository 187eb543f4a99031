import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Files, StoredFile } from '../../storage/index.ts';
import { type AskedModel, openRun, type RunError, type StepCounts } from '../core/run-status.ts';
import type { Step } from '../core/steps.ts';
import type { Warning } from '../core/template.ts';
import { failPoint } from '../fail-points.ts';
import type { RecordedOutput } from '../runs/run-records.ts';
import { type RecordedRow, recordFlow } from './record-sql.ts';
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
  fence: number;
  records: readonly FlowRecord[];
  waits: readonly Omit<NewWait, 'runId'>[];
  /** Finished and known leaves. */
  progress: { finished: number; known: number };
  /** Whether all that is open waits. */
  isWaiting: boolean;
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

/**
 * Records steps that began and ended, what begins to wait, and the end of the run, in one transaction. The files of large outputs are
 * recorded with them.
 * @param also further work of the same transaction, before the steps are recorded
 * @returns undefined when the run is over, or another execution has taken it over
 */
export async function recordFlowSteps(
  { files, boundedWork }: { files: Files; boundedWork: BoundedWork },
  scope: Scope,
  given: FlowWrite,
  also?: (tx: Transaction) => Promise<void>,
): Promise<RecordedRow | undefined> {
  const { records, waits, runId, fence } = given;
  const stored = records.flatMap((one): StoredFile[] =>
    isEnd(one) && one.output && 'file' in one.output ? [one.output.file] : [],
  );
  const steps = await rowsOf(boundedWork, records);
  if (stored.length === 0 && waits.length === 0 && !also) return write(scope, steps, given);
  const written = await scope.transaction(async (tx) => {
    if (!(await tx.one(holdFlow, { runId, fence }))) return undefined;
    await also?.(tx);
    await lockEventNames(tx, waits);
    for (const wait of waits) await openWait(tx, { runId, ...wait });
    for (const file of stored) await files.record(tx, file);
    const recorded = await write(tx, steps, given);
    const unused = stored.map(({ name }) => name).filter((name) => !recorded?.files?.includes(name));
    if (unused.length > 0) await files.remove(tx, unused);
    if (waits.length > 0) failPoint('wait.before-commit');
    return recorded;
  });
  if (waits.length > 0) failPoint('wait.opened');
  return written;
}
