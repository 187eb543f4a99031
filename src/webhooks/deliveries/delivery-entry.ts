import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { type DeliveryDelay, delayReason } from '../core/admission.ts';
import { type DeliveryStatus, isOpen, isReplayable } from '../core/delivery-status.ts';
import { webhookIds } from '../core/ids.ts';
import { webhookNotFound } from '../errors.ts';
import { type LoadRow, loadColumns, loadOf, loadRow } from '../subscriptions/subscription-load.ts';
import { isTestEvent } from './publish-event.ts';

/** A delivery in the log: its state and its last attempt. */
export interface DeliveryEntry {
  id: string;
  eventId: string;
  eventType: string;
  status: DeliveryStatus;
  statusCode: number | null;
  responseBody: string | null;
  responseBodyTruncated: boolean;
  durationMs: number | null;
  /** All attempts, those before replays included. */
  attempts: number;
  nextAttemptAt: Date | null;
  errorClass: string | null;
  replayable: boolean;
  /** Whether it was requested as a test. */
  isTest: boolean;
  /** When its body was removed; null while it is there. */
  contentExpungedAt: Date | null;
  /** The correlation id of what caused the event. */
  correlationId: string;
  /** Why its next attempt waits although it is due; undefined when it does not. */
  delay: DeliveryDelay | undefined;
  createdAt: Date;
}

export interface DeliveryRow extends Omit<DeliveryEntry, 'replayable' | 'delay'> {
  ignoresBreaker: boolean;
  isHeld: boolean;
  /** Whether an attempt is under way. */
  isLeased: boolean;
  /** Whether the body of its event is to go: it is not sent again. */
  isExpunged: boolean;
}

export function entryOf(
  { ignoresBreaker, isHeld, isLeased, isExpunged, ...row }: DeliveryRow,
  load: LoadRow,
): DeliveryEntry {
  const due = isOpen(row.status) && !isLeased && row.nextAttemptAt?.getTime();
  const delay = due
    ? delayReason(loadOf(load), { nextAttemptAt: due, ignoresBreaker, isHeld }, load.now.getTime())
    : undefined;
  return { ...row, replayable: isReplayable(row.status) && !isExpunged, delay };
}

/** The columns of a `DeliveryRow`, of a delivery `d` and its event `e`. */
export const deliveryRow = {
  id: 'uuid',
  eventId: 'uuid',
  eventType: 'text',
  status: typed<DeliveryStatus>('text'),
  statusCode: 'int?',
  responseBody: 'text?',
  responseBodyTruncated: 'boolean',
  durationMs: 'int?',
  attempts: 'int',
  nextAttemptAt: 'timestamptz?',
  errorClass: 'text?',
  ignoresBreaker: 'boolean',
  isHeld: 'boolean',
  isLeased: 'boolean',
  isTest: 'boolean',
  contentExpungedAt: 'timestamptz?',
  isExpunged: 'boolean',
  correlationId: 'text',
  createdAt: 'timestamptz',
} as const;
export const entryColumns = `d.id, e.id as "eventId", e.type as "eventType", d.status, d.status_code as "statusCode",
  d.response_body as "responseBody", d.response_body_truncated as "responseBodyTruncated",
  d.duration_ms as "durationMs", d.attempts, d.next_attempt_at as "nextAttemptAt", d.error_class as "errorClass",
  d.ignores_breaker as "ignoresBreaker", d.is_held as "isHeld", coalesce(d.leased_until > atelier_now(), false) as "isLeased",
  ${isTestEvent('e')} as "isTest", coalesce(d.content_expunged_at, e.content_expunged_at) as "contentExpungedAt",
  e.expunge_requested_at is not null as "isExpunged", e.correlation_id as "correlationId", d.created_at as "createdAt"`;

const findLoad = statement({
  name: 'subscription.load',
  parameters: { id: 'uuid' },
  row: loadRow,
  text: `select ${loadColumns}
     from webhook_subscription s
    where s.organization_id = :organizationId and s.environment = :environment and s.id = :id and s.deleted_at is null`,
});

/** @param id in either form @throws AppError not_found */
export async function loadSubscription(scope: Scope, id: string): Promise<LoadRow> {
  const uuid = webhookIds.parse(id);
  const found = uuid && (await scope.one(findLoad, { id: uuid }));
  if (!found) throw webhookNotFound(id);
  return found;
}
