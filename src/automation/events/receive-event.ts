import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fingerprintOf, type IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { invalid } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { eventIds } from '../../webhooks/core/ids.ts';
import { findReservedName } from '../core/event-names.ts';
import { failPoint } from '../fail-points.ts';
import { type DecideServices, EventDecision } from './decide.ts';
import { claimUnanswered, findAnswer, insertEvent } from './events-sql.ts';

interface ReceiveServices extends DecideServices {
  /** Whether an integration has this id. */
  isIntegration(id: string): boolean;
}

export interface NewEvent {
  name: string;
  data: Record<string, unknown>;
  /** Unique for a day. */
  id?: string | undefined;
}

export interface ReceivedEvent {
  id: string;
  /** The resumed steps and started runs among those that were decided. */
  resumed: number;
  started: number;
  /** Whether everything is decided. */
  complete: boolean;
}

const pauseMs = { first: 5, max: 100 };

/**
 * Takes an event in, and decides the first thousand waits and triggers of its name.
 * @throws AppError validation_error for a name of the platform's, idempotency_key_reused
 */
export async function receiveEvent(
  services: ReceiveServices,
  scope: Scope,
  event: NewEvent,
  claim?: IdempotencyClaim,
): Promise<ReceivedEvent & { replayed: boolean }> {
  const { name, data, id } = event;
  const reserved = findReservedName(name, services.events, (word) => services.isIntegration(word));
  if (reserved) throw invalid([{ path: 'name', message: reserved }]);
  const lease = randomUUID();
  const eventId = newId();
  const externalId = id ?? eventIds.format(eventId);
  const row = { id: eventId, type: name, externalId, content: JSON.stringify(data), lease };
  const insert = async (on: Scope) => (await on.one(insertEvent, { ...row, correlationId: scope.correlationId }))!;

  if (id === undefined && !claim) {
    const { isComplete } = await insert(scope);
    if (isComplete) return { id: externalId, resumed: 0, started: 0, complete: true, replayed: false };
    return { ...(await answerOf(services, scope, { eventId, name, lease })), replayed: false };
  }
  const outcome = { id: eventId };
  const insertOnce = async (tx: Transaction) => {
    await insert(tx);
    return outcome;
  };
  const byId: IdempotencyClaim | undefined =
    id === undefined
      ? undefined
      : { method: 'EVENT', path: '/api/v1/events', key: id, called: 'id', fingerprint: fingerprintOf({ name, data }) };
  const once = await scope.transaction(
    async (tx) => (byId ? (await tx.transaction(insertOnce, { claim: byId, outcome })).outcome : insertOnce(tx)),
    { claim },
  );
  const answer = await answerOf(services, scope, { eventId: once.outcome.id, name, lease });
  return { ...answer, replayed: once.replayed };
}

/** Decides events of the name, in their order, until the answer of this one is known. */
async function answerOf(
  services: DecideServices,
  scope: Scope,
  { eventId, name, lease }: { eventId: string; name: string; lease: string },
): Promise<ReceivedEvent> {
  failPoint('event.received');
  for (let wait = pauseMs.first; ; wait = Math.min(wait * 2, pauseMs.max)) {
    const answer = await scope.one(findAnswer, { id: eventId });
    if (!answer) throw new Error(`The event ${eventId} is gone.`);
    const { externalId, resumed, started, isAnswered, wasComplete } = answer;
    if (isAnswered) return { id: externalId, resumed, started, complete: wasComplete ?? false };
    const claimed = await scope.one(claimUnanswered, { type: name, lease });
    if (claimed) await new EventDecision(services, scope, claimed, lease).run('answer');
    else await sleep(wait);
  }
}
