import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { retryIndividually } from '../../platform/concurrency/batcher.ts';
import { keepOutcomes, readClaimed, releaseClaims, takeClaims } from '../../platform/database/idempotency.ts';
import type { Transaction } from '../../platform/database/scope.ts';
import { publishEvents } from '../../webhooks/index.ts';
import { readBookables } from '../availability/calendar-rules.ts';
import { readAllOccupied } from '../availability/occupied-times.ts';
import { planEffects, wantsLink } from '../core/effects.ts';
import { bookingCreated } from '../core/events.ts';
import { eventTypeIds } from '../core/ids.ts';
import { includeBooked } from '../core/occupied.ts';
import { readsForBooking } from '../core/reads.ts';
import { viewsOf } from '../effects/enqueue-effects.ts';
import type { Booking } from '../entities.ts';
import { eventTypeNotFound } from '../errors.ts';
import type { BookingPages } from './booking-pages.ts';
import { type BookingRequest, type BookingServices, lockHosts, type MadeBooking } from './booking-queues.ts';
import { type BookingView, viewOf } from './booking-view.ts';
import { checkAgainst, factsOf, holdOf, isoTimes, type Prepared, prepareBooking } from './check-booking.ts';
import { type BookingToWrite, insertBookings } from './insert-bookings.ts';

export interface BookBatchServices extends BookingServices {
  bookingPages: BookingPages;
}

type Settled = PromiseSettledResult<MadeBooking>;

/** What becomes of each, until it is refused or done. */
interface Attempt {
  asked: BookingRequest;
  prepared?: Prepared;
  settled?: Settled;
}

const refuse = (attempt: Attempt, reason: unknown): void => {
  attempt.settled = { status: 'rejected', reason };
};
const isOpen = ({ settled }: Attempt): boolean => settled === undefined;

const rowOf = (
  { bookingPages }: BookBatchServices,
  { id, scope, input }: BookingRequest,
  { bookable, place, ...time }: Prepared,
  now: Date,
): Booking => ({
  id,
  token: bookingPages.tokenOf(id),
  hostToken: null,
  ...scope.tenant,
  eventTypeId: bookable.eventTypeId,
  hostId: bookable.hostId,
  status: 'confirmed',
  startAt: new Date(time.startsAt),
  endAt: new Date(time.endsAt),
  ...holdOf(time, bookable.eventType),
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
});

function writeOf(services: BookBatchServices, asked: BookingRequest, prepared: Prepared, now: Date): BookingToWrite {
  const row = rowOf(services, asked, prepared, now);
  const { bookable, place } = prepared;
  const effects = planEffects({
    now,
    status: 'confirmed',
    notifyAttendee: true,
    wantsLink: wantsLink(place, bookable.locations),
    reminders: bookable.reminders,
    timeScale: services.effectTimeScale,
    facts: { ...isoTimes(row.startAt, row.endAt), occasion: 'confirmed', previousStart: null, reason: null },
  });
  return { row, effects };
}

/** Takes the keys of the requests; those of an earlier request get its outcome. */
async function claimKeys(tx: Transaction, attempts: readonly Attempt[]): Promise<void> {
  const claims = attempts.flatMap((attempt) =>
    attempt.asked.claim ? [{ ...attempt.asked.claim, resourceId: attempt.asked.id, attempt }] : [],
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
  const uuidOf = ({ asked }: Attempt) => eventTypeIds.parse(asked.input.eventTypeId);
  const bookables = await readBookables(
    tx,
    attempts.flatMap((attempt) => uuidOf(attempt) ?? []),
  );
  for (const attempt of attempts) {
    const { input } = attempt.asked;
    try {
      const bookable = bookables.get(uuidOf(attempt) ?? '');
      if (!bookable) throw eventTypeNotFound(input.eventTypeId);
      attempt.prepared = prepareBooking(bookable, input);
    } catch (error) {
      refuse(attempt, error);
    }
  }
}

/** Rules can be many: after so long without a pause other requests have their turn. */
const pauseAfterMs = 5;

/**
 * Checks times one after the other: each finds those before it taken, too.
 * @returns what is to be written of those that are not refused
 */
async function checkAll(
  services: BookBatchServices,
  tx: Transaction,
  attempts: readonly (Attempt & { prepared: Prepared })[],
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
  const takens = await readAllOccupied(tx, wanted);
  const now = new Date();
  let since = performance.now();
  for (const [index, attempt] of attempts.entries()) {
    if (performance.now() - since > pauseAfterMs) {
      await yieldToEventLoop();
      since = performance.now();
    }
    const { bookable, startsAt, endsAt } = attempt.prepared;
    try {
      await checkAgainst(bookable, startsAt, takens[index]!, now.getTime());
    } catch (error) {
      refuse(attempt, error);
      continue;
    }
    const write = writeOf(services, attempt.asked, attempt.prepared, now);
    writes.set(attempt, write);
    const { holdStartAt, holdEndAt } = write.row;
    const booked = { startsAt, endsAt, holdStartsAt: holdStartAt.getTime(), holdEndsAt: holdEndAt.getTime() };
    for (let later = index + 1; later < attempts.length; later++) {
      const other = attempts[later]!.prepared.bookable;
      if (other.hostId !== bookable.hostId) continue;
      takens[later] = includeBooked(takens[later]!, booked, other.eventTypeId === bookable.eventTypeId);
    }
  }
  return writes;
}

async function writeAll(tx: Transaction, writes: ReadonlyMap<Attempt, BookingToWrite>): Promise<void> {
  if (writes.size === 0) return;
  const made = [...writes].map(([attempt, { row, effects }]) => ({ attempt, booking: viewOf(row, viewsOf(effects)) }));
  const entries = await insertBookings(tx, [...writes.values()]);
  const occurred = made.map(({ attempt, booking }) => {
    const { correlationId } = attempt.asked.scope;
    return { subjectId: booking.id, facts: factsOf(booking, null, 'api'), correlationId };
  });
  await publishEvents(tx, bookingCreated, occurred);
  const outcomes = made.flatMap(({ attempt: { asked }, booking }) =>
    asked.claim ? [{ claim: asked.claim, outcome: booking }] : [],
  );
  await keepOutcomes(tx, outcomes);
  for (const { attempt, booking } of made) {
    attempt.settled = { status: 'fulfilled', value: { outcome: booking, entryId: entries.get(booking.id)! } };
  }
}

const isPrepared = (attempt: Attempt): attempt is Attempt & { prepared: Prepared } =>
  isOpen(attempt) && attempt.prepared !== undefined;

/** @param asked none with the same key */
function bookAll(services: BookBatchServices, asked: readonly BookingRequest[]): Promise<Settled[]> {
  return asked[0]!.scope.transaction(async (tx) => {
    const attempts = asked.map((one): Attempt => ({ asked: one }));
    await claimKeys(tx, attempts);
    const claiming = attempts.filter(isOpen);
    await prepareAll(tx, claiming);
    await writeAll(tx, await checkAll(services, tx, claiming.filter(isPrepared)));
    const refused = claiming.flatMap(({ asked: { claim, id }, settled }) =>
      claim && settled?.status === 'rejected' ? [{ ...claim, resourceId: id }] : [],
    );
    await releaseClaims(tx, refused);
    return attempts.map(({ settled }) => settled!);
  });
}

/** Those that can be booked in one transaction: requests with the same key follow each other. */
function firstOfEachKey(asked: readonly BookingRequest[]): [now: BookingRequest[], later: BookingRequest[]] {
  const keys = new Set<string>();
  const [now, later]: [BookingRequest[], BookingRequest[]] = [[], []];
  for (const one of asked) {
    const name = one.claim && `${one.claim.method} ${one.claim.path} ${one.claim.key}`;
    (name !== undefined && keys.has(name) ? later : now).push(one);
    if (name !== undefined) keys.add(name);
  }
  return [now, later];
}

/**
 * Books times that several requests of a tenant ask for, in one transaction: each is booked or refused by itself, as if
 * they came one after the other.
 * @returns in their order
 */
export async function bookTogether(services: BookBatchServices, asked: readonly BookingRequest[]): Promise<Settled[]> {
  const [now, later] = firstOfEachKey(asked);
  const settled = new Map<BookingRequest, Settled>();
  // A value that PostgreSQL does not store fails its own booking alone.
  for (const [index, one] of (await retryIndividually(now, (some) => bookAll(services, some))).entries()) {
    settled.set(now[index]!, one.status === 'fulfilled' ? one.value : one);
  }
  if (later.length > 0) {
    for (const [index, one] of (await bookTogether(services, later)).entries()) settled.set(later[index]!, one);
  }
  return asked.map((one) => settled.get(one)!);
}
