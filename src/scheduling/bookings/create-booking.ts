import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { clock } from '../../platform/clock.ts';
import { retryIndividually } from '../../platform/concurrency/batcher.ts';
import {
  type IdempotencyClaim,
  keepOutcomes,
  type Once,
  readClaimed,
  releaseClaims,
  takeClaims,
} from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { newId } from '../../platform/ids.ts';
import { enqueueSql } from '../../platform/outbox/enqueue.ts';
import { publishEvents } from '../../webhooks/index.ts';
import { readBookables } from '../availability/calendar-rules.ts';
import { readAllOccupied } from '../availability/occupied-times.ts';
import { type PlannedEffect, planEffects, wantsLink } from '../core/effects.ts';
import { type BookingSource, bookingCreated } from '../core/events.ts';
import { eventTypeIds } from '../core/ids.ts';
import { includeBooked } from '../core/occupied.ts';
import { readsForBooking } from '../core/reads.ts';
import { type EffectSettings, followWork, viewsOf } from '../effects/enqueue-effects.ts';
import type { Booking } from '../entities.ts';
import { eventTypeNotFound } from '../errors.ts';
import type { NewBooking } from './booking-input.ts';
import type { BookingPages } from './booking-pages.ts';
import {
  type BookingRequest,
  type BookingServices,
  type CreatedBooking,
  lockHosts,
  queueCreate,
} from './booking-queues.ts';
import { type BookingView, viewOf } from './booking-view.ts';
import { checkAgainst, factsOf, holdOf, isoTimes, type Prepared, prepareBooking } from './check-booking.ts';

/*
 * How a booking is created, from the top down. Requests of a tenant that arrive together are one batch, and a batch is one
 * transaction: a busy tenant would wait for hundreds of commits otherwise. Each request of a batch succeeds or is refused by
 * itself, as if they came one after the other.
 *
 * 1. Take the Idempotency-Keys: the request of a key that was used has its earlier outcome.
 * 2. Read the event types, and check what does not depend on other bookings.
 * 3. Lock the hosts, read their occupied times, and check one request after the other.
 * 4. Write the bookings with their effects, events and outcomes.
 */

export type CreateBookingServices = BookingServices & InsertBookingServices;

/**
 * Books a time, once per Idempotency-Key; a refusal does not use the key up. The host is locked, so that limits hold too; the
 * constraint on holds is what no mistake gets past.
 * @throws AppError validation_error, not_found, idempotency_key_reused, and the codes of `schedulingErrors`
 */
export async function createBooking(
  services: CreateBookingServices,
  scope: Scope,
  input: NewBooking,
  claim?: IdempotencyClaim,
  source: BookingSource = 'api',
): Promise<Once<BookingView>> {
  const request = { id: newId(), scope, input, claim, source };
  const { outcome, entryId } = await queueCreate(services, request, (batch) => bookBatch(services, batch));
  // With the correlation id of this request, and not that of another one in its batch.
  if (entryId !== undefined) await scope.attempt([{ kind: followWork, subjectId: outcome.id, entryId }]);
  return { outcome, replayed: entryId === undefined };
}

type Settled = PromiseSettledResult<CreatedBooking>;

/** @returns in the order of the requests */
async function bookBatch(services: CreateBookingServices, batch: readonly BookingRequest[]): Promise<Settled[]> {
  const [first, later] = firstOfEachKey(batch);
  const settled = new Map<BookingRequest, Settled>();
  // A value that PostgreSQL does not store fails its own booking alone.
  for (const [index, one] of (
    await retryIndividually(first, (some) => bookInOneTransaction(services, some))
  ).entries()) {
    settled.set(first[index]!, one.status === 'fulfilled' ? one.value : one);
  }
  if (later.length > 0) {
    for (const [index, one] of (await bookBatch(services, later)).entries()) settled.set(later[index]!, one);
  }
  return batch.map((request) => settled.get(request)!);
}

/** Those that can be booked in one transaction: requests with the same key run one after the other. */
function firstOfEachKey(batch: readonly BookingRequest[]): [first: BookingRequest[], later: BookingRequest[]] {
  const keys = new Set<string>();
  const [first, later]: [BookingRequest[], BookingRequest[]] = [[], []];
  for (const request of batch) {
    const { claim } = request;
    const key = claim && `${claim.method} ${claim.path} ${claim.key}`;
    (key !== undefined && keys.has(key) ? later : first).push(request);
    if (key !== undefined) keys.add(key);
  }
  return [first, later];
}

/** A request and its result, once it has one. */
interface Attempt {
  request: BookingRequest;
  prepared?: Prepared;
  settled?: Settled;
}
type PreparedAttempt = Attempt & { prepared: Prepared };

const isOpen = ({ settled }: Attempt): boolean => settled === undefined;
const isPrepared = (attempt: Attempt): attempt is PreparedAttempt => isOpen(attempt) && attempt.prepared !== undefined;

const refuse = (attempt: Attempt, reason: unknown): void => {
  attempt.settled = { status: 'rejected', reason };
};

/** @param requests none with the same key */
function bookInOneTransaction(
  services: CreateBookingServices,
  requests: readonly BookingRequest[],
): Promise<Settled[]> {
  return requests[0]!.scope.transaction(async (tx) => {
    const attempts = requests.map((request): Attempt => ({ request }));
    await claimKeys(tx, attempts);
    const claiming = attempts.filter(isOpen);
    await prepareAll(tx, claiming);
    await writeAll(tx, await checkAll(services, tx, claiming.filter(isPrepared)));
    const refused = claiming.flatMap(({ request: { claim, id }, settled }) =>
      claim && settled?.status === 'rejected' ? [{ ...claim, resourceId: id }] : [],
    );
    await releaseClaims(tx, refused);
    return attempts.map(({ settled }) => settled!);
  });
}

/** Takes the keys of the requests; requests with a used key get the outcome of the earlier request. */
async function claimKeys(tx: Transaction, attempts: readonly Attempt[]): Promise<void> {
  const claims = attempts.flatMap((attempt) =>
    attempt.request.claim ? [{ ...attempt.request.claim, resourceId: attempt.request.id, attempt }] : [],
  );
  const taken = await takeClaims(tx, claims);
  for (const claim of claims) {
    if (taken.has(claim)) continue;
    try {
      const value = { outcome: await readClaimed<BookingView>(tx, claim), entryId: undefined };
      claim.attempt.settled = { status: 'fulfilled', value };
    } catch (error) {
      refuse(claim.attempt, error);
    }
  }
}

/** Reads the rules of all, and checks what does not depend on other bookings. */
async function prepareAll(tx: Transaction, attempts: readonly Attempt[]): Promise<void> {
  const uuidOf = ({ request }: Attempt) => eventTypeIds.parse(request.input.eventTypeId);
  const bookables = await readBookables(
    tx,
    attempts.flatMap((attempt) => uuidOf(attempt) ?? []),
  );
  for (const attempt of attempts) {
    const { input } = attempt.request;
    try {
      const bookable = bookables.get(uuidOf(attempt) ?? '');
      if (!bookable) throw eventTypeNotFound(input.eventTypeId);
      attempt.prepared = prepareBooking(bookable, input);
    } catch (error) {
      refuse(attempt, error);
    }
  }
}

/** Rules can be many: after so long the work pauses for other requests. */
const pauseAfterMs = 5;

/**
 * Checks the times one after the other, each against the bookings before it too.
 * @returns what is to be written for those that are not refused
 */
async function checkAll(
  services: CreateBookingServices,
  tx: Transaction,
  attempts: readonly PreparedAttempt[],
): Promise<Map<Attempt, BookingToWrite>> {
  const writes = new Map<Attempt, BookingToWrite>();
  if (attempts.length === 0) return writes;
  await lockHosts(
    tx,
    attempts.map(({ prepared }) => prepared.bookable.hostId),
  );
  const wanted = attempts.map(({ prepared: { bookable, startsAt } }) => {
    return { bookable, reads: readsForBooking(bookable.rules, bookable.eventType, startsAt) };
  });
  const occupied = await readAllOccupied(tx, wanted);
  const now = clock.date();
  let since = performance.now();
  for (const [index, attempt] of attempts.entries()) {
    if (performance.now() - since > pauseAfterMs) {
      await yieldToEventLoop();
      since = performance.now();
    }
    const { bookable, startsAt, endsAt } = attempt.prepared;
    try {
      await checkAgainst(bookable, startsAt, occupied[index]!, now.getTime());
    } catch (error) {
      refuse(attempt, error);
      continue;
    }
    const write = bookingToWrite(services, attempt.request, attempt.prepared, now);
    writes.set(attempt, write);
    const { holdStartAt, holdEndAt } = write.row;
    const booked = { startsAt, endsAt, holdStartsAt: holdStartAt.getTime(), holdEndsAt: holdEndAt.getTime() };
    for (let later = index + 1; later < attempts.length; later++) {
      const other = attempts[later]!.prepared.bookable;
      if (other.hostId !== bookable.hostId) continue;
      occupied[later] = includeBooked(occupied[later]!, booked, other.eventTypeId === bookable.eventTypeId);
    }
  }
  return writes;
}

/** Writes the bookings, their events and the outcomes of their keys. */
async function writeAll(tx: Transaction, writes: ReadonlyMap<Attempt, BookingToWrite>): Promise<void> {
  if (writes.size === 0) return;
  const created = [...writes].map(([attempt, { row, effects }]) => ({
    attempt,
    booking: viewOf(row, viewsOf(effects)),
  }));
  const entries = await insertBookings(tx, [...writes.values()]);
  const occurred = created.map(({ attempt, booking }) => {
    const { scope, source } = attempt.request;
    return { subjectId: booking.id, facts: factsOf(booking, null, source), correlationId: scope.correlationId };
  });
  await publishEvents(tx, bookingCreated, occurred);
  const outcomes = created.flatMap(({ attempt: { request }, booking }) =>
    request.claim ? [{ claim: request.claim, outcome: booking }] : [],
  );
  await keepOutcomes(tx, outcomes);
  for (const { attempt, booking } of created) {
    attempt.settled = { status: 'fulfilled', value: { outcome: booking, entryId: entries.get(booking.id)! } };
  }
}

interface InsertBookingServices extends EffectSettings {
  bookingPages: BookingPages;
}

/** A booking that is to be written, with what follows from it. */
interface BookingToWrite {
  row: Booking;
  effects: PlannedEffect[];
}

/** A booking that passed all checks, as it is written. */
function bookingToWrite(
  { bookingPages, effectTimeScale: timeScale }: InsertBookingServices,
  { id, scope, input }: { id: string; scope: Scope; input: NewBooking },
  { bookable, place, startsAt, endsAt }: Prepared,
  now: Date,
): BookingToWrite {
  const [startAt, endAt] = [new Date(startsAt), new Date(endsAt)];
  const row: Booking = {
    id,
    token: bookingPages.tokenOf(id),
    hostToken: null,
    ...scope.tenant,
    eventTypeId: bookable.eventTypeId,
    hostId: bookable.hostId,
    status: 'confirmed',
    startAt,
    endAt,
    ...holdOf({ startsAt, endsAt }, bookable.eventType),
    attendeeName: input.attendee.name,
    attendeeEmail: input.attendee.email,
    attendeePhone: input.attendee.phone,
    attendeeTimezone: input.attendee.timezone,
    location: place,
    responses: input.responses,
    metadata: input.metadata,
    previousStartAt: null,
    previousEndAt: null,
    rescheduleReason: null,
    rescheduleCount: 0,
    cancelledAt: null,
    cancellationReason: null,
    correlationId: scope.correlationId,
    createdAt: now,
    updatedAt: now,
  };
  const effects = planEffects({
    now,
    status: 'confirmed',
    notifyAttendee: true,
    wantsLink: wantsLink(place, bookable.locations),
    reminders: bookable.reminders,
    timeScale,
    facts: { ...isoTimes(startAt, endAt), occasion: 'confirmed', previousStart: null, reason: null },
  });
  return { row, effects };
}

const columns = {
  id: 'uuid',
  event_type_id: 'uuid',
  host_id: 'uuid',
  status: 'text',
  start_at: 'timestamptz',
  end_at: 'timestamptz',
  hold_start_at: 'timestamptz',
  hold_end_at: 'timestamptz',
  attendee_name: 'text',
  attendee_email: 'text',
  attendee_phone: 'text',
  attendee_timezone: 'text',
  location: 'json',
  responses: 'json',
  metadata: 'json',
  reschedule_count: 'int',
  correlation_id: 'text',
  token: 'text',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
};
const names = Object.keys(columns).join(', ');
const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`);

// One statement for all, because a busy tenant creates hundreds in a second. `enqueueEffects` creates the same effects
// after a change; a new booking has no earlier effects to remove and no waiting entry.
const insert = statement({
  name: 'booking.insert',
  parameters: { rows: 'json' },
  row: { subjectId: 'uuid', entryId: 'uuid' },
  text: `with requested as materialized (
     select * from json_to_recordset(:rows) as t(${typed.join(', ')}, effects json)),
   made as (
     insert into booking (organization_id, environment, ${names}) select :organizationId, :environment, ${names}
       from requested),
   planned as (
     insert into booking_effect (booking_id, version, kind, organization_id, environment, status, attempts, facts,
                                 due_at, created_at, updated_at)
     select a.id, 0, e.kind, :organizationId, :environment, 'pending', 0, e.facts, e."dueAt", a.created_at, a.created_at
       from requested a cross join lateral json_to_recordset(a.effects) as e(kind text, "dueAt" timestamptz, facts jsonb))
   ${enqueueSql(followWork, { subject: 'id', correlation: 'correlation_id', from: 'requested' })}
   returning subject_id as "subjectId", id as "entryId"`,
  // Each request attempts its own.
  enqueues: 'drain',
});

/**
 * Writes new bookings, and what follows from them. The host of each is locked.
 * @returns the id of the outbox entry of each booking, by the booking's
 */
async function insertBookings(tx: Transaction, bookings: readonly BookingToWrite[]): Promise<Map<string, string>> {
  const rows = bookings.map(({ row, effects }) => ({
    id: row.id,
    event_type_id: row.eventTypeId,
    host_id: row.hostId,
    status: row.status,
    start_at: row.startAt,
    end_at: row.endAt,
    hold_start_at: row.holdStartAt,
    hold_end_at: row.holdEndAt,
    attendee_name: row.attendeeName,
    attendee_email: row.attendeeEmail,
    attendee_phone: row.attendeePhone,
    attendee_timezone: row.attendeeTimezone,
    location: row.location,
    responses: row.responses,
    metadata: row.metadata,
    reschedule_count: row.rescheduleCount,
    correlation_id: row.correlationId,
    token: row.token,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    effects,
  }));
  const entries = await tx.rows(insert, { rows: JSON.stringify(rows) });
  return new Map(entries.map(({ subjectId, entryId }) => [subjectId, entryId]));
}
