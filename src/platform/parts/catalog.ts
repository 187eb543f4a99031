import type { EntitySchema } from '@mikro-orm/postgresql';
import type { PlanLimit } from '../../tenancy/core/plan-limits.ts';
import { orderedScopes } from '../../tenancy/core/scopes.ts';
import type { AnyBoundedTask } from '../bounded-work/task.ts';
import type { EventType } from '../core/event-type.ts';
import type { ResourceId } from '../core/ids.ts';
import type { AnyStateTable } from '../core/states.ts';
import type { RowBounds } from '../database/row-bound.ts';
import { type TenantTable, tenantTablesOf } from '../database/tenant-tables.ts';
import type { Settings } from '../env.ts';
import type { ErrorKind } from '../errors.ts';
import type { SealedTable } from '../security/reseal.ts';
import type { FindableRows } from './findable.ts';
import type { LimitUse } from './limit-use.ts';
import type { Declarations } from './part.ts';
import type { AnyStepKind } from './step-kind.ts';

/** What all parts declare, merged. */
export interface Catalog {
  entities: EntitySchema[];
  /** By table. */
  rowBounds: RowBounds;
  /** In the order in which they are emptied: the tables of a part before those of the parts that it uses. */
  tenantTables: TenantTable[];
  settings: Settings[];
  ids: ResourceId[];
  /** In the order of their parts. */
  limits: PlanLimit[];
  /** How much of each is used, by its name. */
  limitUse: ReadonlyMap<string, LimitUse>;
  /** The permissions of keys, as published lists have them. */
  scopes: string[];
  /** By name. */
  states: Readonly<Record<string, AnyStateTable>>;
  /** Kind by published code. */
  errors: Record<string, ErrorKind>;
  /** By type, in the order of their parts. */
  events: ReadonlyMap<string, EventType>;
  /** The resources that the entries of each action identify. */
  auditActions: ReadonlyMap<string, ResourceId>;
  failPoints: string[];
  sealed: SealedTable[];
  findable: FindableRows[];
  /** Kinds of outbox entries that are attempted right after the commit. */
  promptKinds: string[];
  boundedTasks: AnyBoundedTask[];
  /** By type, in the order of their parts. */
  stepKinds: ReadonlyMap<string, AnyStepKind>;
}

/** @throws Error when two parts claim one name */
export function refuseTwice(what: string, claims: Iterable<readonly [part: string, name: string]>): void {
  const claimedBy = new Map<string, string>();
  for (const [part, name] of claims) {
    const first = claimedBy.get(name);
    if (first !== undefined) throw new Error(`The parts ${first} and ${part} both declare the ${what} ${name}.`);
    claimedBy.set(name, part);
  }
}

const claimsOf = <Claim>(parts: readonly Declarations[], list: (part: Declarations) => readonly Claim[] | undefined) =>
  parts.flatMap((part) => (list(part) ?? []).map((claim) => [part.name, claim] as const));

/** @throws Error when two parts claim one name */
export function catalogOf(parts: readonly Declarations[]): Catalog {
  const names = <Claim>(list: (part: Declarations) => readonly Claim[] | undefined, name: (claim: Claim) => string) =>
    claimsOf(parts, list).map(([part, claim]) => [part, name(claim)] as const);
  const same = (name: string) => name;
  refuseTwice(
    'name',
    parts.map(({ name }) => [name, name] as const),
  );
  refuseTwice(
    'table',
    names(
      ({ entities }) => entities,
      (entity) => entity.meta.tableName,
    ),
  );
  refuseTwice(
    'bound of the table',
    names(({ rowBounds }) => Object.keys(rowBounds ?? {}), same),
  );
  refuseTwice(
    'variable',
    names(({ settings }) => Object.keys(settings?.shape ?? {}), same),
  );
  refuseTwice(
    'id prefix',
    names(
      ({ ids }) => ids,
      ({ prefix }) => prefix,
    ),
  );
  refuseTwice(
    'error code',
    names(({ errors }) => Object.keys(errors ?? {}), same),
  );
  refuseTwice(
    'event type',
    names(
      ({ events }) => events,
      ({ type }) => type,
    ),
  );
  refuseTwice(
    'audit action',
    names(({ auditActions }) => Object.keys(auditActions ?? {}), same),
  );
  refuseTwice(
    'kind of findable rows',
    names(
      ({ findable }) => findable,
      ({ kind }) => kind,
    ),
  );
  refuseTwice(
    'step type',
    names(
      ({ stepKinds }) => stepKinds,
      ({ type }) => type,
    ),
  );
  refuseTwice(
    'scope',
    names(
      ({ scopes }) => scopes,
      ({ name }) => name,
    ),
  );
  refuseTwice(
    'state machine',
    names(({ states }) => Object.keys(states ?? {}), same),
  );
  refuseTwice(
    'fail point',
    names(({ failPoints }) => failPoints, same),
  );
  return {
    entities: parts.flatMap(({ entities = [] }) => entities),
    rowBounds: Object.assign({}, ...parts.map(({ rowBounds }) => rowBounds)),
    tenantTables: parts
      .toReversed()
      .flatMap(({ entities = [], rowBounds = {} }) => tenantTablesOf(entities, rowBounds)),
    settings: parts.flatMap(({ settings }) => settings ?? []),
    ids: parts.flatMap(({ ids = [] }) => ids),
    limits: parts.flatMap(({ limits = {} }) => Object.values<PlanLimit>(limits)),
    limitUse: new Map(parts.flatMap(({ limitUse = {} }) => Object.entries<LimitUse>(limitUse))),
    scopes: orderedScopes(parts.flatMap(({ scopes = [] }) => scopes)),
    states: Object.assign({}, ...parts.map(({ states }) => states)),
    errors: Object.assign({}, ...parts.map(({ errors }) => errors)),
    events: new Map(parts.flatMap(({ events = [] }) => events.map((event: EventType) => [event.type, event]))),
    auditActions: new Map(parts.flatMap(({ auditActions = {} }) => Object.entries<ResourceId>(auditActions))),
    failPoints: parts.flatMap(({ failPoints = [] }) => failPoints),
    sealed: parts.flatMap(({ sealed = [] }) => sealed),
    findable: parts.flatMap(({ findable = [] }) => findable),
    promptKinds: parts.flatMap(({ promptKinds = [] }) => promptKinds),
    boundedTasks: parts.flatMap(({ boundedTasks = [] }) => boundedTasks),
    stepKinds: new Map(parts.flatMap(({ stepKinds = [] }) => stepKinds.map((kind) => [kind.type, kind]))),
  };
}
