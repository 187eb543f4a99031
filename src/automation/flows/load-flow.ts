import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { type Stored, storedBytesSql } from '../../storage/index.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import type { FlowError } from '../core/flow-walk.ts';
import type { Mocks } from '../core/mocks.ts';
import { openRun, type RunStatus, type StepStatus } from '../core/run-status.ts';
import type { ModelChoice, Step } from '../core/steps.ts';
import type { FoundOutput } from '../steps/step-outputs.ts';
import { nextExecutionSql } from './fence.ts';

/** The record of a step of a flow. */
interface RecordedLeaf {
  position: number;
  /** Dotted. */
  path: string;
  status: StepStatus;
  /** The output of a condition. */
  took: boolean | null;
  outputBytes: number;
  error: FlowError | null;
  /** Items or branches of an opened container. A container that continues in a retry is running before it is opened. */
  total: number | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  finishedAt: number | null;
  keyRunId: string | null;
}

/** What continuing a flow needs, without the outputs of its steps. */
export interface FlowWork extends Stored {
  /** The fence of this execution before its first write. See fence.ts. */
  fence: number;
  status: RunStatus;
  automationId: string;
  input: unknown;
  variables: Record<string, unknown>;
  steps: Step[];
  byDefault: ModelChoice;
  isWaiting: boolean;
  retryOf: string | null;
  rootRunId: string | null;
  depth: number;
  tags: string[] | null;
  metadata: Record<string, unknown> | null;
  /** Null where the workflow does not limit how many of its runs run at once. */
  slot: 'held' | 'lent' | 'returning' | null;
  concurrencyGroup: string | null;
  /** By dotted path: the earlier runs whose ids stay in the keys of steps. */
  stepKeys: Record<string, string> | null;
  /** What steps of a test run end with instead of being executed; null in other runs. */
  mocks: Mocks | null;
  /** First the ended ones in the order of their ends, then the others. */
  recorded: RecordedLeaf[];
}

const ms = (column: string) => `round(extract(epoch from ${column}) * 1000)`;

/** The largest output that is loaded with the run, in bytes: `false`. */
const withWorkBytes = 5;

const findWork = statement({
  name: 'flow.load',
  parameters: { runId: 'uuid' },
  row: {
    fence: 'int',
    status: typed<RunStatus>('text'),
    automationId: 'uuid',
    input: 'json?',
    variables: typed<Record<string, unknown>>('json'),
    steps: typed<Step[]>('json'),
    byDefault: typed<ModelChoice>('json'),
    isWaiting: 'boolean',
    retryOf: 'uuid?',
    rootRunId: 'uuid?',
    depth: 'smallint',
    tags: typed<string[] | null>('jsonb?'),
    metadata: typed<Record<string, unknown> | null>('json?'),
    mocks: typed<Mocks | null>('json?'),
    stepKeys: typed<Record<string, string> | null>('json?'),
    slot: typed<FlowWork['slot']>('text?'),
    concurrencyGroup: 'uuid?',
    plan: typed<PlanName>('text'),
    storedBytes: 'float8',
    recorded: typed<RecordedLeaf[]>('json'),
  },
  text: `with r as (
     update run set fence = ${nextExecutionSql}
      where organization_id = :organizationId and environment = :environment and id = :runId and status in (${openRun})
     returning *)
   select r.fence, r.status, r.automation_id as "automationId", r.input, r.variables, d.steps,
          json_build_object('provider', d.ai_provider, 'model', d.ai_model) as "byDefault",
          r.waiting_since is not null as "isWaiting", r.retry_of as "retryOf", r.root_run_id as "rootRunId", r.depth, r.tags, r.metadata,
          case when r.is_test then coalesce(r.mocks, '{}') end as mocks,
          r.step_keys as "stepKeys", r.slot, r.concurrency_group as "concurrencyGroup",
          o.plan, ${storedBytesSql} as "storedBytes",
          coalesce((select json_agg(json_build_object('position', s.position, 'path', s.path, 'status', s.status,
                      'took', case when s.output_bytes <= ${withWorkBytes} and s.output::text in ('true', 'false') then s.output end,
                      'outputBytes', coalesce(s.output_bytes, 0), 'error', s.error, 'total', s.counts -> 'total',
                      'startedAt', ${ms('s.started_at')}, 'finishedAt', ${ms('s.finished_at')}, 'keyRunId', s.key_run_id)
                      order by s.finished_at, s.position)
                     from run_step s where s.run_id = r.id and s.path is not null), '[]') as recorded
     from r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = r.definition_id
     join organization o on o.id = r.organization_id`,
});

/** Undefined when the run has ended or was deleted. */
export const loadFlowWork = (scope: Scope, runId: string): Promise<FlowWork | undefined> =>
  scope.one(findWork, { runId });

const findOutputs = statement({
  name: 'flow.outputs',
  parameters: { runId: 'uuid', paths: 'text[]' },
  row: { key: 'text', output: 'json?', file: 'text?', bytes: 'int' },
  text: `select path as key, output, output_file as file, coalesce(output_bytes, 0) as bytes from run_step
    where organization_id = :organizationId and environment = :environment and run_id = :runId and path = any(:paths) and output_bytes is not null`,
});

/** The outputs of steps, by their dotted paths. */
export const readFlowOutputs = (scope: Scope, runId: string, paths: readonly string[]): Promise<FoundOutput[]> =>
  scope.rows(findOutputs, { runId, paths });

const findOpen = statement({
  name: 'flow.is_open',
  parameters: { runId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from run
    where organization_id = :organizationId and environment = :environment and id = :runId and status in (${openRun})`,
});

/** Whether a run has ended or was deleted. */
export const hasEnded = async (scope: Scope, runId: string): Promise<boolean> =>
  (await scope.one(findOpen, { runId })) === undefined;
