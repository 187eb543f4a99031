import type { EntitySchema } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import type { PlanLimit } from '../../tenancy/core/plan-limits.ts';
import type { DeclaredScope } from '../../tenancy/core/scopes.ts';
import type { AnyBoundedTask } from '../bounded-work/task.ts';
import type { EventType } from '../core/event-type.ts';
import type { ResourceId } from '../core/ids.ts';
import type { AnyStateTable } from '../core/states.ts';
import type { RowBounds } from '../database/row-bound.ts';
import type { Settings, SettingsOf } from '../env.ts';
import type { ErrorCodes } from '../errors.ts';
import type { GaugeOptions } from '../observability/metrics.ts';
import type { DrainReport, OutboxHandlers } from '../outbox/outbox.ts';
import type { SealedTable } from '../security/reseal.ts';
import type { FindableRows } from './findable.ts';
import type { LimitUse } from './limit-use.ts';
import type { AnyStepKind, StepKind } from './step-kind.ts';

/** Periodic housekeeping of a feature: it expires, removes or reports rows. */
export interface Sweep {
  /** Shown to operators, such as `expire credit reservations`. */
  name: string;
  /** Below a minute: a timer of each process with the role `housekeeping` runs it, whatever its Schedule does. */
  everyMs: number;
  /**
   * Processes all due items of all tenants. Safe to repeat and to run concurrently.
   * @returns the number of changed items
   */
  run(): Promise<number>;
}

/** The static declarations of a feature. */
export interface Declarations {
  /** The feature's folder below `src`. */
  name: string;
  entities?: readonly EntitySchema[];
  /** How the rows of each of its tables are bounded. */
  rowBounds?: RowBounds;
  /** Environment variables. */
  settings?: Settings;
  ids?: readonly ResourceId[];
  /** What plans include of it. */
  limits?: Readonly<Record<string, PlanLimit>>;
  /** The used amount of each limit, by its name; limits that are counted in memory are not listed. */
  limitUse?: Readonly<Record<string, LimitUse>>;
  /** The permissions of keys that its operations need. */
  scopes?: readonly DeclaredScope[];
  /** Its state machines, by the name of the thing for readers: `A voice call`. */
  states?: Readonly<Record<string, AnyStateTable>>;
  /** Published error codes besides the platform's kinds. */
  errors?: ErrorCodes;
  /** In the order in which the documentation lists them. */
  events?: readonly EventType[];
  /** The actions recorded in the audit log, with the kind of id that each action's `subjectId` is. */
  auditActions?: Readonly<Record<string, ResourceId>>;
  failPoints?: readonly string[];
  /** What operators reseal when they replace a sealing key. */
  sealed?: readonly SealedTable[];
  /** What operators find by an id or a correlation id. */
  findable?: readonly FindableRows[];
  /** Kinds of outbox entries that a caller may wait for: backlogs of others leave slots for them. */
  promptKinds?: readonly string[];
  /** Tasks executed by `boundedWork`. */
  boundedTasks?: readonly AnyBoundedTask[];
  /** The types of steps that it brings to workflows. */
  stepKinds?: readonly AnyStepKind[];
}

/**
 * The declarations that operators' commands need. A part has them in a file of its own, so that a command does not load
 * the part.
 */
export type OperatorDeclarations = Pick<
  Declarations,
  'name' | 'limits' | 'limitUse' | 'scopes' | 'events' | 'auditActions' | 'findable' | 'sealed'
>;

/** The shape of a part without environment variables. */
export type NoSettings = Record<never, z.ZodType>;

/**
 * A feature of the product: its declarations, and what it opens and closes in a process.
 * @typeParam Needs the services it uses: the foundation's and those of parts listed before it
 * @typeParam Gives the services it adds; no two parts give one name
 * @typeParam Shape of its settings
 */
export interface Part<Needs, Gives extends object, Shape extends z.ZodRawShape = NoSettings>
  extends Omit<Declarations, 'settings' | 'stepKinds'> {
  settings?: Settings<Shape>;
  stepKinds?: readonly StepKind<Needs & Gives>[];
  /** Creates the services. Must not connect to anything; `start` does. */
  open(base: Needs & { env: SettingsOf<Shape> }): Gives | Promise<Gives>;
  /** Connects and starts timers. Called in the order of the parts. */
  start?(services: Needs & Gives): Promise<void> | void;
  /** Called in reverse order. */
  close?(services: Needs & Gives): Promise<void> | void;
  /** Handlers by kind of outbox entry. */
  outbox?(services: Needs & Gives): OutboxHandlers;
  /**
   * Further work of a drain of the outbox: work that committed transactions left elsewhere. Every drain calls the
   * function.
   */
  drain?(services: Needs & Gives): () => Promise<DrainReport>;
  sweeps?(services: Needs & Gives): Sweep[];
  gauges?(services: Needs & Gives): GaugeOptions[];
}

// biome-ignore lint/suspicious/noExplicitAny: parts of different types in one list; `with` checks each
export type AnyPart = Part<any, any, any>;
