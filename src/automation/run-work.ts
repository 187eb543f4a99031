import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { Files } from '../storage/files.ts';
import { type Stored, storedBytesSql } from '../storage/storage-limit.ts';
import type { RunStatus, StepStatus } from './core/run-status.ts';
import { type ModelChoice, nextStep, type Step } from './core/steps.ts';
import { type KeptOutput, readOutput } from './large-outputs.ts';

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
export interface RunWork extends Stored {
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
          json_build_object('provider', d.ai_provider, 'model', d.ai_model) as "byDefault",
          o.plan, ${storedBytesSql} as "storedBytes",
          coalesce((select json_agg(json_build_object('position', s.position, 'stepId', s.step_id, 'status', s.status,
                      'output', case when s.output_bytes <= ${withWorkBytes} then s.output end,
                      'outputBytes', coalesce(s.output_bytes, 0)) order by s.position)
                     from run_step s where s.run_id = r.id), '[]') as recorded
     from run r
     join automation a on a.id = r.automation_id and a.deleted_at is null
     join definition d on d.id = r.definition_id
     join organization o on o.id = r.organization_id
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

const findOutputs = statement<{ stepId: string; bytes: number } & KeptOutput>(
  'run.outputs',
  `select step_id as "stepId", output, output_file as file, coalesce(output_bytes, 0) as bytes from run_step
    where organization_id = $1 and environment = $2 and run_id = $3 and step_id = any($4) and status = 'completed'`,
);

/** The largest total of outputs that one step may use, in bytes. */
const maxTogether = 32 * 1024 * 1024;

/** The outputs exceed what one step may use. Its message may be shown to callers. */
export class OutputsTooLarge extends Error {
  override name = 'OutputsTooLarge';
}

/** Bytes of outputs that a run keeps in memory between its steps. More than one output can have. */
const keptBytes = 8 * 1024 * 1024;

/** Outputs of a run's finished steps: those used last are in memory, others are read. */
export class StepOutputs {
  readonly #files: Files;
  readonly #scope: Scope;
  readonly #runId: string;
  /** Of each finished step. */
  readonly #bytes: Map<string, number>;
  /** By the time of their last use. */
  readonly #atHand = new Map<string, unknown>();

  constructor(files: Files, scope: Scope, runId: string, recorded: readonly Recorded[]) {
    this.#files = files;
    this.#scope = scope;
    this.#runId = runId;
    const finished = recorded.filter(({ status }) => status === 'completed');
    this.#bytes = new Map(finished.map(({ stepId, outputBytes }) => [stepId, outputBytes]));
  }

  add(stepId: string, output: unknown, bytes: number): void {
    this.#bytes.set(stepId, bytes);
    this.#atHand.delete(stepId);
    this.#atHand.set(stepId, output);
  }

  /** Forgets what was used least recently. To be called only while every output is recorded. */
  trim(): void {
    let bytes = [...this.#atHand.keys()].reduce((sum, id) => sum + this.#bytes.get(id)!, 0);
    for (const id of this.#atHand.keys()) {
      if (bytes <= keptBytes) return;
      this.#atHand.delete(id);
      bytes -= this.#bytes.get(id)!;
    }
  }

  /** @returns outputs by step id, without unfinished steps. @throws OutputsTooLarge; StorageFailure */
  async of(named: ReadonlySet<string> | 'all'): Promise<Record<string, unknown>> {
    const wanted = [...(named === 'all' ? this.#bytes.keys() : named)].filter((id) => this.#bytes.has(id));
    await this.#read(wanted.filter((id) => !this.#atHand.has(id)));
    return Object.fromEntries(wanted.map((id) => [id, this.#use(id)]));
  }

  #use(id: string): unknown {
    const output = this.#atHand.get(id);
    this.add(id, output, this.#bytes.get(id)!);
    return output;
  }

  async #read(ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    const bytes = ids.reduce((sum, id) => sum + this.#bytes.get(id)!, 0);
    if (bytes > maxTogether) throw new OutputsTooLarge('The outputs that this step uses are too large together.');
    for (const row of await this.#scope.rows(findOutputs, this.#runId, ids)) {
      this.add(row.stepId, await readOutput(this.#files, row), row.bytes);
    }
  }
}
