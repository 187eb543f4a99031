import type { Scope, Transaction } from '../database/scope.ts';
import type { FieldError } from '../errors.ts';

/** How a step ended: with its output, JSON, or with a failure that its tenant may read. */
export type StepOutcome = { output: unknown } | { error: StepError };

export interface StepError {
  /** Published as the code of the step. */
  code: string;
  message: string;
  details?: Record<string, unknown>;
  /** After `rate_limited`, when nothing was done: the time until it may be tried again. */
  retryAfterMs?: number | undefined;
  /** Whether it may have been done all the same. */
  isUnknown?: boolean | undefined;
}

/** The result of a performed step. */
export type StepProgress =
  | StepOutcome
  /** It has a job of this id, whose end is the step's. */
  | { job: string }
  /** Nothing was done, because the plan has no slot for it. It may be tried again after so long. */
  | { slotAfterMs: number };

/** The fields of a step that its kind reads, with its templates filled in. */
export interface StepFields {
  payload: Record<string, unknown>;
  [field: string]: unknown;
}

export interface StepCall {
  fields: StepFields;
  /** One for each step of each run. It stays the same when the step is executed anew, after a crash too. */
  key: string;
  /** Whether the run can wait for a slot. If not the call waits for one itself. */
  mayWait: boolean;
  signal: AbortSignal;
}

/** What steps of a kind wait for. */
interface StepJob<Services> {
  /** Keeps a job from ending before the commit. @returns whether it has ended */
  hold(services: Services, tx: Transaction, id: string): Promise<boolean>;
  /** How a job ended that has. */
  outcome(services: Services, scope: Scope, id: string): Promise<StepOutcome>;
  /** Cancels a job, if it is of this kind and can be cancelled. Absent: none can. */
  cancel?(services: Services, scope: Scope, id: string): Promise<void>;
}

/** What an organization has given a name. A document that leaves the organization has the name in the place of the id. */
export interface NamedThing {
  /** The member that has its id. */
  member: string;
  /** A description for people. */
  noun: string;
  /** @returns the names of those that the organization has, by their ids as they were given */
  names(scope: Scope, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** @returns those that have one of the names; several may have the same one */
  find(scope: Scope, names: readonly string[]): Promise<readonly { id: string; name: string }[]>;
}

/** A type of steps that a feature provides: workflows know nothing else of it. */
export interface StepKind<Services> {
  /** As workflows name it. */
  type: string;
  /** The permission of the key that saves such a step. */
  scope: string;
  /** Whether a placeholder in the payload always becomes text, and never a value with its type. */
  rendersText?: true;
  /** For the reference: the purpose of the step, and its output. */
  description: string;
  /** A payload that its check accepts, for the reference. */
  example?: Record<string, unknown>;
  /**
   * Problems that make the step always fail. Checked without external requests.
   * @param fields strings of the payload may contain templates. Problems of those are reported too; the caller leaves them out
   * @returns paths are names of fields with the place in them, as in `payload.blocks.0.text`
   */
  check(services: Services, fields: StepFields): FieldError[];
  /**
   * Performs the step, once for each key: another call with a key has no further effect, and returns the result of the
   * first call.
   * @throws the reason of `signal`; errors of our own, after which it is called again
   */
  perform(services: Services, scope: Scope, call: StepCall): Promise<StepProgress>;
  /** The outcome in the sandbox. It stores nothing and causes no charge, event or mail. */
  simulate(services: Services, scope: Scope, fields: StepFields): Promise<StepOutcome>;
  /** What its payload names by an id. */
  named?: NamedThing;
  /** The jobs of kinds whose steps wait for some. */
  job?: StepJob<Services>;
}

// biome-ignore lint/suspicious/noExplicitAny: kinds of different parts in one list; the type of a part checks its own
export type AnyStepKind = StepKind<any>;

/** A kind with the services of its process. */
export interface OpenedStepKind extends Pick<AnyStepKind, 'type' | 'scope' | 'rendersText' | 'named'> {
  /** Whether cancelling a step cancels its job. */
  cancelsJob: boolean;
  check(fields: StepFields): FieldError[];
  perform(scope: Scope, call: StepCall): Promise<StepProgress>;
  simulate(scope: Scope, fields: StepFields): Promise<StepOutcome>;
  hold(tx: Transaction, jobId: string): Promise<boolean>;
  outcome(scope: Scope, jobId: string): Promise<StepOutcome>;
  cancel(scope: Scope, jobId: string): Promise<void>;
}

function opened(kind: AnyStepKind, services: object): OpenedStepKind {
  const { type, scope, rendersText, named, job } = kind;
  const withJobs = () => {
    if (!job) throw new Error(`Steps of the type ${type} have no jobs.`);
    return job;
  };
  return {
    type,
    scope,
    ...(rendersText && { rendersText }),
    ...(named && { named }),
    cancelsJob: job?.cancel !== undefined,
    check: (fields) => kind.check(services, fields),
    perform: (of, call) => kind.perform(services, of, call),
    simulate: (of, fields) => kind.simulate(services, of, fields),
    hold: (tx, jobId) => withJobs().hold(services, tx, jobId),
    outcome: (of, jobId) => withJobs().outcome(services, of, jobId),
    cancel: async (of, jobId) => job?.cancel?.(services, of, jobId),
  };
}

/** The kinds of steps that the parts of a process handed in. */
export class StepKinds {
  readonly #byType = new Map<string, OpenedStepKind>();

  /** Called once, with the services of all parts. */
  open(kinds: Iterable<AnyStepKind>, services: object): void {
    for (const kind of kinds) this.#byType.set(kind.type, opened(kind, services));
  }

  get(type: string): OpenedStepKind {
    const kind = this.#byType.get(type);
    if (!kind) throw new Error(`No part hands in steps of the type ${type}.`);
    return kind;
  }

  /** What steps of a type name by an id in their payload. */
  namedBy(type: unknown): NamedThing | undefined {
    return this.#byType.get(String(type))?.named;
  }

  /** Problems of a step, with paths in it. */
  check(type: string, fields: StepFields): FieldError[] {
    const kind = this.#byType.get(type);
    return kind ? kind.check(fields) : [{ path: 'type', message: `There are no steps of the type ${type}.` }];
  }

  /** Cancels a job, whatever kind of step it is for. */
  async cancelJob(scope: Scope, jobId: string): Promise<void> {
    for (const kind of this.#byType.values()) await kind.cancel(scope, jobId);
  }
}
