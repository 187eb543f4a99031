import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { clock } from '../platform/clock.ts';
import { lockForTransaction } from '../platform/concurrency/tenant-locks.ts';
import type { IdempotencyClaim, Once } from '../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { defaultReminders } from './core/effects.ts';
import { eventTypeIds } from './core/ids.ts';
import { freeSlug, slugOf } from './core/slug.ts';
import { type OfferedLocation, type Question, SchedulingEventType } from './entities.ts';
import { eventTypeNotFound } from './errors.ts';
import { keepHost } from './hosts.ts';
import { enforceListSize, enforcePlanLimit } from './plan-limits.ts';

interface EventTypeFields {
  name: string;
  /** Minutes, like both buffers. */
  duration: number;
  description: string | null;
  locations: OfferedLocation[];
  bufferBefore: number;
  bufferAfter: number;
  /** Hours. */
  minNotice: number;
  /** Days; null for no limit. */
  maxAdvance: number | null;
  questions: Question[];
  /** Minutes before the start. */
  reminders: number[];
  /** Origins whose pages may show the booking page in a frame. */
  embedOrigins: string[];
  isActive: boolean;
  /** Null: the default host. */
  hostId: string | null;
}

export interface NewEventType extends EventTypeFields {
  /** Made of the name when it is not given. */
  slug: string | undefined;
}

export type EventTypeChange = { [Field in keyof NewEventType]?: NewEventType[Field] | undefined };

export interface EventTypeView extends EventTypeFields {
  id: string;
  slug: string;
  createdAt: Date;
  updatedAt: Date;
}

export const maxEventTypes = 500;

/** Bytes of an event type as JSON: its public page shows all of it to anybody. */
const maxEventTypeBytes = 64 * 1024;

const viewOf = (row: SchedulingEventType): EventTypeView => ({
  id: row.id,
  name: row.name,
  slug: row.slug,
  duration: row.duration,
  description: row.description ?? null,
  locations: row.locations,
  isActive: row.isActive,
  bufferBefore: row.bufferBefore,
  bufferAfter: row.bufferAfter,
  minNotice: row.minNotice,
  maxAdvance: row.maxAdvance ?? null,
  questions: row.questions,
  reminders: row.reminders ?? [...defaultReminders],
  embedOrigins: row.embedOrigins ?? [],
  hostId: row.hostId ?? null,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

const slugTaken = (slug: string) => new AppError('conflict', 'Another event type has this slug.', { slug });

const takenSlugs = statement({
  name: 'event_type.taken_slugs',
  row: { slug: 'text' },
  text: `select slug from scheduling_event_type
    where organization_id = :organizationId and environment = :environment and deleted_at is null`,
});

/** Transactions that choose a slug run one after another, so that two cannot choose the same one. */
async function readSlugs(tx: Transaction): Promise<Set<string>> {
  await lockForTransaction(tx, 'event_types');
  return new Set((await tx.rows(takenSlugs)).map(({ slug }) => slug));
}

function checkQuestions(questions: readonly Question[] = []): void {
  const problems = questions.flatMap(({ type, options = [] }, index) =>
    type === 'select' && options.length === 0
      ? [{ path: `questions.${index}.options`, message: 'A select needs options.' }]
      : [],
  );
  if (problems.length > 0) throw invalid(problems);
}

const large = ['questions', 'locations', 'description'] as const;

/** The parts of an event type that may be large have so many bytes as JSON. @throws AppError validation_error at the largest */
function checkSize(of: { [Part in (typeof large)[number]]?: unknown }): void {
  const sizes = large.map((path) => ({ path, bytes: Buffer.byteLength(JSON.stringify(of[path] ?? null)) }));
  if (sizes.reduce((sum, { bytes }) => sum + bytes, 0) <= maxEventTypeBytes) return;
  const [{ path }] = sizes.toSorted((one, other) => other.bytes - one.bytes) as [(typeof sizes)[0]];
  throw invalid([{ path, message: 'Expected an event type of at most 64 KiB as JSON.' }]);
}

/**
 * Creates an event type, once per Idempotency-Key.
 * @throws AppError validation_error, not_found for an unknown host, forbidden when the plan includes no more, conflict when
 *   the slug is taken or there are as many as a list has
 */
export function createEventType(
  scope: Scope,
  { slug: wanted, ...fields }: NewEventType,
  claim?: IdempotencyClaim,
): Promise<Once<EventTypeView>> {
  checkQuestions(fields.questions);
  checkSize(fields);
  const create = async (tx: Transaction) => {
    const taken = await readSlugs(tx);
    if (taken.size >= maxEventTypes) {
      throw new AppError('conflict', `There are ${maxEventTypes} event types already.`, { limit: maxEventTypes });
    }
    await enforcePlanLimit(tx, 'eventTypes');
    if (wanted !== undefined && taken.has(wanted)) throw slugTaken(wanted);
    const hostId = fields.hostId === null ? null : await keepHost(tx, fields.hostId);
    const now = clock.date();
    const made = tx.em.create(SchedulingEventType, {
      id: newId(),
      ...scope.tenant,
      ...fields,
      hostId,
      slug: wanted ?? freeSlug(slugOf(fields.name), taken),
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    });
    tx.em.persist(made);
    await enforceListSize(tx, 'eventTypes');
    await tx.audit({ action: 'event_type.create', subjectId: made.id });
    return viewOf(made);
  };
  return scope.transaction(create, { claim });
}

/** Newest first. */
export async function listEventTypes(scope: Scope): Promise<EventTypeView[]> {
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  const found = await scope.read((em) => em.find(SchedulingEventType, { deletedAt: null }, { orderBy }));
  return found.map(viewOf);
}

/** @param id in either form. @throws AppError not_found */
export async function getEventType(scope: Scope, id: string): Promise<EventTypeView> {
  const uuid = eventTypeIds.parse(id);
  const found = uuid && (await scope.read((em) => em.findOne(SchedulingEventType, { id: uuid, deletedAt: null })));
  if (!found) throw eventTypeNotFound(id);
  return viewOf(found);
}

async function lockEventType(em: EntityManager, id: string): Promise<SchedulingEventType> {
  const uuid = eventTypeIds.parse(id);
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const found = uuid && (await em.findOne(SchedulingEventType, { id: uuid, deletedAt: null }, { lockMode }));
  if (!found) throw eventTypeNotFound(id);
  return found;
}

/**
 * Changes only the given fields. Existing bookings keep their length and their buffers.
 * @throws AppError validation_error, not_found, conflict when the slug is taken or the list would be too long
 */
export function updateEventType(scope: Scope, id: string, change: EventTypeChange): Promise<EventTypeView> {
  checkQuestions(change.questions);
  return scope.transaction(async (tx) => {
    // Before the row is locked: creations hold the lock while they wait for nothing else.
    const mayGrow = [change.name, ...large.map((part) => change[part])].some((part) => part !== undefined);
    const taken = change.slug === undefined && !mayGrow ? undefined : await readSlugs(tx);
    const eventType = await lockEventType(tx.em, id);
    if (change.slug !== undefined && change.slug !== eventType.slug && taken!.has(change.slug)) {
      throw slugTaken(change.slug);
    }
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    if (given.length === 0) return viewOf(eventType);
    const hostId = typeof change.hostId === 'string' ? { hostId: await keepHost(tx, change.hostId) } : {};
    Object.assign(eventType, Object.fromEntries(given), hostId, { updatedAt: clock.date() });
    if (mayGrow) {
      checkSize(eventType);
      await enforceListSize(tx, 'eventTypes');
    }
    const facts = { given: given.map(([name]) => name) };
    await tx.audit({ action: 'event_type.update', subjectId: eventType.id, facts });
    return viewOf(eventType);
  });
}

/** Removes an event type from every read; its bookings stay. @returns its canonical id. @throws AppError not_found */
export function deleteEventType(scope: Scope, id: string): Promise<string> {
  return scope.transaction(async (tx) => {
    const eventType = await lockEventType(tx.em, id);
    eventType.deletedAt = clock.date();
    await tx.audit({ action: 'event_type.delete', subjectId: eventType.id });
    return eventType.id;
  });
}
