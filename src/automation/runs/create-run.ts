import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import type { Waiters } from '../../platform/concurrency/waiters.ts';
import { findClaim, type IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type RowWith, typed } from '../../platform/database/sql-types.ts';
import { AppError, invalid } from '../../platform/errors.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { ProviderRegistry } from '../../providers/index.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { workflowIds } from '../core/ids.ts';
import { type InputDefinition, resolveInputs } from '../core/inputs.ts';
import type { Mocks } from '../core/mocks.ts';
import type { TerminalStatus } from '../core/run-status.ts';
import type { Concurrency, QueueReason } from '../core/starts.ts';
import { stepsIn } from '../core/step-types.ts';
import { candidatesOf, type ModelChoice, type Step } from '../core/steps.ts';
import { workflowInactive, workflowNotFound } from '../errors.ts';
import { findGroup } from '../starts/concurrency-group.ts';
import { insertTestRun } from '../test-runs/insert-test-run.ts';
import {
  type InsertedRun,
  insertNewRun,
  type NewRun,
  Outdated,
  type ParentOfRun,
  type RunOptions,
  type RunTrigger,
} from './insert-run.ts';
import type { StartRunServices } from './run-workflows.ts';

const startableRow = {
  id: 'uuid',
  state: 'text',
  definitionId: 'uuid',
  byDefault: typed<ModelChoice>('json'),
  steps: typed<Step[]>('json'),
  inputs: typed<InputDefinition[]>('json'),
  plan: typed<PlanName>('text'),
  concurrency: typed<Concurrency | null>('json?'),
  maxDurationSeconds: 'int?',
  isPaused: 'boolean',
  bytes: 'int',
} as const;

/** A workflow as its starts read it. `bytes` is the length of its steps and inputs as JSON. */
export type Startable = RowWith<typeof startableRow>;

const startableWith = (definition: string) => `
   select a.id, a.state, d.id as "definitionId", d.steps, d.inputs, o.plan, d.concurrency,
          d.max_duration_seconds as "maxDurationSeconds", a.is_paused as "isPaused",
          json_build_object('provider', d.ai_provider, 'model', d.ai_model) as "byDefault",
          octet_length(d.steps::text) + octet_length(d.inputs::text) as bytes
     from automation a
     join definition d on ${definition}
     join organization o on o.id = a.organization_id
    where a.organization_id = :organizationId and a.environment = :environment and a.id = :id and a.deleted_at is null`;

const findStartable = statement({
  name: 'run.startable',
  parameters: { id: 'uuid' },
  row: startableRow,
  text: startableWith('d.id = a.definition_id'),
  sharesConnection: true,
});

const findStartableVersion = statement({
  name: 'run.startable_version',
  parameters: { id: 'uuid', version: 'int' },
  row: startableRow,
  text: startableWith('d.automation_id = a.id and d.version = :version'),
  sharesConnection: true,
});

/**
 * @param version the current one unless given
 * @throws AppError workflow_not_found; validation_error where it has no such version
 */
export async function findStartableWorkflow(scope: Scope, id: string, version?: number): Promise<Startable> {
  const uuid = workflowIds.parse(id);
  const startable = uuid && (await scope.one(findStartable, { id: uuid }));
  if (!startable) throw workflowNotFound(id);
  if (version === undefined) return startable;
  const named = await scope.one(findStartableVersion, { id: uuid, version });
  if (!named) throw invalid([{ path: 'version', message: 'The workflow has no such version.' }]);
  return named;
}

/** Workflows with more JSON are read for each start. */
const maxJsonBytes = 32 * 1024;
/** Above it everything is forgotten. */
const maxBytes = 16 * 1024 * 1024;
/** The bytes of an entry besides its JSON. */
const entryBytes = 2 * 1024;

/**
 * Active workflows that this process has started before: a start saves the statement that reads them. One of them may have
 * changed since, so the statement that creates a run compares its definition, state and plan with those in the database.
 */
export class StartableCache {
  readonly #entries = new Map<string, Startable>();
  #bytes = 0;

  #key({ tenant: { organizationId, environment } }: Scope, id: string): string {
    return `${organizationId} ${environment} ${workflowIds.parse(id)}`;
  }

  get(scope: Scope, id: string): Startable | undefined {
    return this.#entries.get(this.#key(scope, id));
  }

  put(scope: Scope, id: string, startable: Startable): void {
    this.forget(scope, id);
    const { bytes, state, isPaused } = startable;
    if (bytes > maxJsonBytes || state !== 'active' || isPaused) return;
    if (this.#bytes + entryBytes + bytes > maxBytes) {
      this.#entries.clear();
      this.#bytes = 0;
    }
    this.#entries.set(this.#key(scope, id), startable);
    this.#bytes += entryBytes + bytes;
  }

  forget(scope: Scope, id: string): void {
    const key = this.#key(scope, id);
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#bytes -= entryBytes + entry.bytes;
  }
}

export interface RunRequest {
  /** The value of `{{input}}`. `whole` means all variables, with defaults. */
  input: { value: unknown } | 'whole';
  variables: Record<string, unknown>;
  idempotency?: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the end. */
  waiter: string | null;
  /** Further work in the transaction that creates the run. */
  also?: ((tx: Transaction, runId: string) => Promise<void>) | undefined;
  options?: RunOptions | undefined;
  /** The API unless given. */
  trigger?: RunTrigger | undefined;
  /** The step that starts it. */
  parent?: ParentOfRun | undefined;
  /** Counts the run, once it is known to be new and startable. An exception refuses the run. */
  count?: (() => Promise<void>) | undefined;
  /** A test run, and what its steps end with instead of being executed. */
  test?: { mocks: Mocks } | undefined;
}

export interface CreatedRun {
  runId: string;
  /** Why it may not begin yet. */
  queuedFor?: QueueReason | null | undefined;
  automationId: string;
  /** True when an earlier request with the same Idempotency-Key made the run. */
  replayed: boolean;
}

/** No run, because the workflow skips runs over its limit. */
interface SkippedRun {
  runId: null;
  automationId: string;
  replayed: false;
}

/** The services that decide whether a run may start. */
export interface CreateRunServices extends StartRunServices {
  boundedWork: BoundedWork;
  /** Notifies requests that wait for a run which is superseded. */
  waiters: Waiters;
  startables: StartableCache;
  countRunEnd(status: TerminalStatus): void;
}

/** Each prompt step needs at least one configured model. @throws AppError provider_not_configured, with its first model's provider */
export function checkProviders(
  providers: ProviderRegistry,
  environment: Environment,
  steps: readonly Step[],
  byDefault: ModelChoice,
): void {
  const find = ({ provider, model }: ModelChoice) => providers.textModel(environment, provider, model);
  const isConfigured = (choice: ModelChoice) => {
    try {
      return find(choice) !== undefined;
    } catch {
      return false;
    }
  };
  for (const step of steps) {
    if (step.type !== 'prompt') continue;
    const candidates = candidatesOf(step, byDefault);
    if (!candidates.some(isConfigured)) find(candidates[0]);
  }
}

/** A run of a workflow as it is now, before it starts. @throws AppError validation_error, provider_not_configured */
export function prepareRun(
  services: StartRunServices,
  environment: Environment,
  startable: Startable,
  { input: given, variables: named }: Pick<RunRequest, 'input' | 'variables'>,
): Pick<NewRun, 'input' | 'variables'> {
  const { variables, problems } = resolveInputs(startable.inputs, named);
  if (problems.length > 0) throw invalid(problems);
  checkProviders(services.providers, environment, startable.steps, startable.byDefault);
  return { input: given === 'whole' ? variables : given.value, variables };
}

/** @throws AppError validation_error for a mock of a step that the workflow does not have */
function knownMocks(steps: readonly Step[], mocks: Mocks): Mocks {
  const ids = new Set([...stepsIn(steps)].map(({ id }) => id));
  const unknown = Object.keys(mocks).filter((id) => !ids.has(id));
  if (unknown.length === 0) return mocks;
  throw invalid(unknown.slice(0, 20).map((id) => ({ path: `mocks.${id}`, message: 'The workflow has no such step.' })));
}

/** Drafts may be tested; a run that a step starts needs an active workflow in a test, too. */
const isTrial = ({ test, parent }: RunRequest): boolean => test !== undefined && !parent;

/** Creates a run of a workflow that was read, or remembered. @throws Outdated where it was remembered */
async function createRunOf(
  services: CreateRunServices,
  scope: Scope,
  startable: Startable,
  id: string,
  request: RunRequest,
  isRemembered = false,
): Promise<CreatedRun | SkippedRun> {
  const { id: automationId, definitionId, steps, plan, concurrency, maxDurationSeconds, isPaused } = startable;
  const claim = request.idempotency;
  const earlier = claim && (await findClaim(scope, claim));
  if (earlier) return { runId: earlier.resourceId, automationId, replayed: true };

  if (startable.state !== 'active' && !isTrial(request)) throw workflowInactive(id);
  const environment = request.test ? 'test' : scope.tenant.environment;
  const values = prepareRun(services, environment, startable, request);
  const group = concurrency &&
    !request.test && {
      id: await findGroup(services.boundedWork, scope.tenantKey, automationId, concurrency, values),
      concurrency,
    };
  const { options, trigger, parent, test } = request;
  const run: NewRun = {
    automationId,
    definitionId,
    namedAs: id,
    ...values,
    totalSteps: steps.length,
    options,
    trigger,
    parent,
    group: group || undefined,
    maxDurationSeconds,
    isPaused,
    rememberedPlan: isRemembered ? plan : undefined,
  };
  const start = { plan, steps, position: 0, waiter: request.waiter };
  if (test) {
    const inserted = await insertTestRun(scope, claim, { ...run, mocks: knownMocks(steps, test.mocks) }, start);
    return { ...inserted, automationId };
  }
  await request.count?.();
  return finishInsert(services, automationId, await insertNewRun(scope, claim, run, start, request.also));
}

/** @returns undefined where the workflow has to be read */
async function createRemembered(
  services: CreateRunServices,
  scope: Scope,
  id: string,
  request: RunRequest,
): Promise<CreatedRun | SkippedRun | undefined> {
  const remembered = services.startables.get(scope, id);
  if (!remembered) return undefined;
  try {
    return await createRunOf(services, scope, remembered, id, request, true);
  } catch (error) {
    // The request may be valid for the current workflow, which may differ from the remembered one.
    if (!(error instanceof Outdated || error instanceof AppError)) throw error;
    services.startables.forget(scope, id);
    return undefined;
  }
}

/** @returns what counts a run once, however often it is called */
function countedOnce(count: RunRequest['count']): RunRequest['count'] {
  let counted: Promise<void> | undefined;
  return count && (() => (counted ??= count()));
}

/**
 * Creates a run: its row, the claim of its Idempotency-Key and the outbox entry that starts its workflow commit together.
 * @returns without a run when the workflow skips runs over its limit
 * @throws AppError workflow_not_found, workflow_inactive, validation_error, provider_not_configured, idempotency_key_reused,
 *   expression_error, forbidden
 */
export async function createRun(
  services: CreateRunServices,
  scope: Scope,
  id: string,
  given: RunRequest,
): Promise<CreatedRun | SkippedRun> {
  const version = given.options?.version;
  // A repeated request is answered as the first one only while its workflow exists, so the workflow is read.
  const mayBeRemembered = version === undefined && !given.test && !given.idempotency;
  const request = { ...given, count: countedOnce(given.count) };
  const created = mayBeRemembered && (await createRemembered(services, scope, id, request));
  if (created) return created;
  const startable = await findStartableWorkflow(scope, id, version);
  if (mayBeRemembered) services.startables.put(scope, id, startable);
  return createRunOf(services, scope, startable, id, request);
}

/** Notifies the callers that wait for superseded runs. */
export function finishInsert(
  { waiters, countRunEnd }: Pick<CreateRunServices, 'waiters' | 'countRunEnd'>,
  automationId: string,
  inserted: InsertedRun,
): CreatedRun | SkippedRun {
  if (inserted.kind === 'skipped') return { runId: null, automationId, replayed: false };
  const { runId, replayed, queuedFor, superseded } = inserted;
  for (const id of superseded) {
    countRunEnd('cancelled');
    waiters.notifyLocal(id);
  }
  return { runId, automationId, replayed, queuedFor };
}
