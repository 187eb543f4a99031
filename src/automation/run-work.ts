import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { RunStatus, StepStatus } from './core/run-status.ts';
import { type ModelChoice, nextStep, type Step } from './core/steps.ts';

/** The recorded result of one step. */
export interface Recorded {
  position: number;
  stepId: string;
  status: StepStatus;
  /** Only outputs as small as a condition's; larger ones are read when a step uses them. */
  output: unknown;
  outputBytes: number;
}

/** What continuing a run needs, without the outputs of its steps. */
export interface RunWork {
  status: RunStatus;
  input: unknown;
  variables: Record<string, unknown>;
  steps: Step[];
  byDefault: ModelChoice;
  /** The first position: a retry need not start at its first step. */
  firstPosition: number;
  /** By position. */
  recorded: Recorded[];
}

/** The largest output that is loaded with the run, in bytes: `false`. */
const withWorkBytes = 5;

const findWork = statement<RunWork>(
  'run.work',
  `select r.status, r.input, r.variables, r.first_position as "firstPosition", d.steps,
          jsonb_build_object('provider', d.ai_provider, 'model', d.ai_model) as "byDefault",
          coalesce((select jsonb_agg(jsonb_build_object('position', s.position, 'stepId', s.step_id, 'status', s.status,
                      'output', case when s.output_bytes <= ${withWorkBytes} then s.output end,
                      'outputBytes', coalesce(s.output_bytes, 0)) order by s.position)
                     from run_step s where s.run_id = r.id), '[]') as recorded
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = r.definition_id
    where r.organization_id = $1 and r.environment = $2 and r.id = $3`,
);

/** Undefined when the run was deleted. */
export function loadRunWork(scope: Scope, runId: string): Promise<RunWork | undefined> {
  return scope.one(findWork, runId);
}

/** The position of the current step; the number of steps after the last one. */
export function positionOf({ steps, firstPosition, recorded }: RunWork): number {
  const last = recorded.findLast(({ position, status }) => status === 'completed' && position >= firstPosition);
  return last ? nextStep(steps, last.position, last.output) : firstPosition;
}

const findOutputs = statement<{ stepId: string; output: unknown }>(
  'run.outputs',
  `select step_id as "stepId", output from run_step
    where organization_id = $1 and environment = $2 and run_id = $3 and step_id = any($4) and status = 'completed'`,
);

/** The largest total of outputs that one step may use, in bytes. */
const maxTogether = 32 * 1024 * 1024;

/** The outputs exceed what one step may use. Its message may be shown to callers. */
export class OutputsTooLarge extends Error {
  override name = 'OutputsTooLarge';
}

/** Outputs of a run's finished steps. Those made by this process are in memory, earlier ones are read on first use. */
export class StepOutputs {
  readonly #scope: Scope;
  readonly #runId: string;
  readonly #stored: ReadonlyMap<string, Recorded>;
  readonly #atHand = new Map<string, unknown>();

  constructor(scope: Scope, runId: string, recorded: readonly Recorded[]) {
    this.#scope = scope;
    this.#runId = runId;
    this.#stored = new Map(recorded.filter(({ status }) => status === 'completed').map((one) => [one.stepId, one]));
  }

  add(stepId: string, output: unknown): void {
    this.#atHand.set(stepId, output);
  }

  /** @returns outputs by step id, without unfinished steps. @throws OutputsTooLarge */
  async of(named: ReadonlySet<string> | 'all'): Promise<Record<string, unknown>> {
    const wanted = named === 'all' ? new Set([...this.#stored.keys(), ...this.#atHand.keys()]) : named;
    await this.#read([...wanted].filter((id) => this.#stored.has(id) && !this.#atHand.has(id)));
    return Object.fromEntries([...wanted].flatMap((id) => (this.#atHand.has(id) ? [[id, this.#atHand.get(id)]] : [])));
  }

  async #read(ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    const bytes = ids.reduce((sum, id) => sum + this.#stored.get(id)!.outputBytes, 0);
    if (bytes > maxTogether) throw new OutputsTooLarge('The outputs that this step uses are too large together.');
    for (const { stepId, output } of await this.#scope.rows(findOutputs, this.#runId, ids)) this.add(stepId, output);
  }
}
