import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type RowWith, typed } from '../../platform/database/sql-types.ts';
import { invalid } from '../../platform/errors.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { workflowIds } from '../core/ids.ts';
import type { InputDefinition } from '../core/inputs.ts';
import type { Concurrency } from '../core/starts.ts';
import type { ModelChoice, Step } from '../core/steps.ts';
import { workflowNotFound } from '../errors.ts';

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
