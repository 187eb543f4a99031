import type { EntitySchema } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { PlanLimit } from '../tenancy/core/plan-limits.ts';
import type { AnyBoundedTask } from './bounded-work/task.ts';
import type { EventType } from './core/event-type.ts';
import type { ResourceId } from './core/ids.ts';
import type { AnyStateTable } from './core/states.ts';
import type { Settings, SettingsOf } from './env.ts';
import type { ErrorKind } from './errors.ts';
import type { FindableRows } from './findable.ts';
import type { OutboxHandlers } from './outbox.ts';
import type { AnyPart, Declarations, Part, Sweep } from './part.ts';
import type { SealedTable } from './reseal.ts';

/** What all parts declare, merged. */
export interface Catalog {
  entities: EntitySchema[];
  settings: Settings[];
  ids: ResourceId[];
  /** In the order of their parts. */
  limits: PlanLimit[];
  /** By name. */
  states: Readonly<Record<string, AnyStateTable>>;
  /** Kind by published code. */
  errors: Record<string, ErrorKind>;
  /** By type, in the order of their parts. */
  events: ReadonlyMap<string, EventType>;
  /** What the entries of each action identify. */
  auditActions: ReadonlyMap<string, ResourceId>;
  failPoints: string[];
  sealed: SealedTable[];
  findable: FindableRows[];
  /** Of outbox entries. */
  promptKinds: string[];
  boundedTasks: AnyBoundedTask[];
}

/** Everything that the parts of one process opened. */
export interface OpenedParts<Services> {
  services: Services;
  outbox: OutboxHandlers;
  sweeps: Sweep[];
  start(): Promise<void>;
  close(): Promise<void>;
}

/** @throws Error when two parts claim one name */
function refuseTwice(what: string, claims: Iterable<readonly [part: string, name: string]>): void {
  const claimedBy = new Map<string, string>();
  for (const [part, name] of claims) {
    const first = claimedBy.get(name);
    if (first !== undefined) throw new Error(`The parts ${first} and ${part} both declare the ${what} ${name}.`);
    claimedBy.set(name, part);
  }
}

const claimsOf = <Claim>(parts: readonly AnyPart[], list: (part: Declarations) => readonly Claim[] | undefined) =>
  parts.flatMap((part) => (list(part) ?? []).map((claim) => [part.name, claim] as const));

function catalogOf(parts: readonly AnyPart[]): Catalog {
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
    'state machine',
    names(({ states }) => Object.keys(states ?? {}), same),
  );
  refuseTwice(
    'fail point',
    names(({ failPoints }) => failPoints, same),
  );
  return {
    entities: parts.flatMap(({ entities = [] }) => entities),
    settings: parts.flatMap(({ settings }) => settings ?? []),
    ids: parts.flatMap(({ ids = [] }) => ids),
    limits: parts.flatMap(({ limits = {} }) => Object.values<PlanLimit>(limits)),
    states: Object.assign({}, ...parts.map(({ states }) => states)),
    errors: Object.assign({}, ...parts.map(({ errors }) => errors)),
    events: new Map(parts.flatMap(({ events = [] }) => events.map((event: EventType) => [event.type, event]))),
    auditActions: new Map(parts.flatMap(({ auditActions = {} }) => Object.entries<ResourceId>(auditActions))),
    failPoints: parts.flatMap(({ failPoints = [] }) => failPoints),
    sealed: parts.flatMap(({ sealed = [] }) => sealed),
    findable: parts.flatMap(({ findable = [] }) => findable),
    promptKinds: parts.flatMap(({ promptKinds = [] }) => promptKinds),
    boundedTasks: parts.flatMap(({ boundedTasks = [] }) => boundedTasks),
  };
}

/**
 * The parts of the product in their order: each may use what those before it give.
 * @typeParam Services what all of them give together, with the foundation
 * @typeParam Values of their settings
 */
export class Composition<Services extends object, Values extends object> {
  readonly #parts: readonly AnyPart[];
  #catalog: Catalog | undefined;

  constructor(parts: readonly AnyPart[] = []) {
    this.#parts = parts;
  }

  /** Adds a part at the end. */
  with<Gives extends object, Shape extends z.ZodRawShape>(
    part: Part<Services, Gives, Shape>,
  ): Composition<Services & Gives, Values & SettingsOf<Shape>> {
    return new Composition([...this.#parts, part]);
  }

  /** @throws Error when two parts claim one name */
  get catalog(): Catalog {
    this.#catalog ??= catalogOf(this.#parts);
    return this.#catalog;
  }

  /**
   * Opens every part.
   * @param foundation what the first part may use
   * @throws Error when two parts give one service, or claim one outbox kind, sweep or gauge
   */
  async open(foundation: object): Promise<OpenedParts<Services>> {
    const services: Record<string, unknown> = { ...foundation };
    const given: [string, string][] = Object.keys(services).map((name) => ['foundation', name]);
    for (const part of this.#parts) {
      const gives: object = await part.open(services);
      given.push(...Object.keys(gives).map((name): [string, string] => [part.name, name]));
      refuseTwice('service', given);
      Object.assign(services, gives);
    }
    const built = <Made>(make: (part: AnyPart) => readonly Made[] | undefined) =>
      this.#parts.flatMap((part) => (make(part) ?? []).map((made) => [part.name, made] as const));
    const handlers = built((part) => Object.entries<OutboxHandlers[string]>(part.outbox?.(services) ?? {}));
    const sweeps = built((part) => part.sweeps?.(services));
    const gauges = built((part) => part.gauges?.(services));
    refuseTwice(
      'outbox kind',
      handlers.map(([part, [kind]]) => [part, kind] as const),
    );
    refuseTwice(
      'sweep',
      sweeps.map(([part, { name }]) => [part, name] as const),
    );
    refuseTwice(
      'gauge',
      gauges.map(([part, { name }]) => [part, name] as const),
    );
    for (const [, gauge] of gauges) (foundation as { metrics: { gauge(of: typeof gauge): void } }).metrics.gauge(gauge);
    return {
      services: services as Services,
      outbox: Object.fromEntries(handlers.map(([, entry]) => entry)),
      sweeps: sweeps.map(([, sweep]) => sweep),
      start: async () => {
        for (const part of this.#parts) await part.start?.(services);
      },
      close: async () => {
        for (const part of [...this.#parts].reverse()) await part.close?.(services);
      },
    };
  }
}
