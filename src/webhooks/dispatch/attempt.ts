import { clock } from '../../platform/clock.ts';
import { readRetryAfter } from '../../platform/core/retry-after.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import { EgressFailure } from '../../platform/egress/egress-failure.ts';
import type { Log } from '../../platform/observability/log.ts';
import { SealError, type Sealer } from '../../platform/security/crypto.ts';
import type { Tenant } from '../../platform/tenant.ts';
import type { PayloadForm, SignatureKind } from '../core/delivery-options.ts';
import type { EventCatalog } from '../core/event-catalog.ts';
import { deliveryIds, eventIds } from '../core/ids.ts';
import { type AttemptResult, unforeseen, unreadable } from '../core/retry-schedule.ts';
import { integrationPayloadOf, payloadOf } from '../deliveries/payload.ts';
import { eventOf, isTestEvent } from '../deliveries/publish-event.ts';
import { openHeaders, type SealedColumn, sealedColumn } from '../subscriptions/subscription-secrets.ts';
import type { DeliveryPolicy } from './delivery-policy.ts';
import { sign } from './sign.ts';

export interface AttemptServices {
  egress: Egress;
  log: Log;
  sealer: Sealer;
  events: EventCatalog;
  /** The brand in the signature headers of family A: `X-<brand>-Signature`. */
  webhookBrand: string;
  deliveryPolicy: DeliveryPolicy;
}

/** What an attempt needs to be sent and judged. */
export interface AttemptWork {
  deliveryId: string;
  subscriptionId: string;
  maxAttempts: number;
  /** Whether the subscription's last attempt failed. */
  hasFailed: boolean;
  /** Attempts recorded before, over all replays. */
  attempts: number;
  /** Attempts recorded before in the current schedule. */
  scheduleAttempts: number;
  url: string;
  /** Whose webhook it is; null for an ordinary one. */
  integration: string | null;
  payload: PayloadForm;
  signature: SignatureKind;
  sealedHeaders: string | null;
  sealedSecret: string;
  /** Null when there is none, or it has expired. */
  sealedPreviousSecret: string | null;
  /** The same of the one before that. */
  sealedOlderSecret: string | null;
  eventId: string;
  eventType: string;
  /** Whether it is a test or an example. */
  isTest: boolean;
  facts: unknown;
  eventCreatedAt: Date;
  /** Where deliveries about the same wait for each other; null where they do not. */
  subject: string | null;
  /** The correlation id of what caused the event. */
  correlationId: string;
}

const findWork = statement({
  name: 'delivery.work',
  parameters: { deliveryIds: 'uuid[]' },
  row: {
    deliveryId: 'uuid',
    attempts: 'int',
    scheduleAttempts: 'int',
    subscriptionId: 'uuid',
    maxAttempts: 'int',
    hasFailed: 'boolean',
    url: 'text',
    integration: 'text?',
    payload: typed<PayloadForm>('text'),
    signature: typed<SignatureKind>('text'),
    sealedHeaders: 'text?',
    sealedSecret: 'text',
    sealedPreviousSecret: 'text?',
    sealedOlderSecret: 'text?',
    eventId: 'uuid',
    eventType: 'text',
    isTest: 'boolean',
    facts: 'json',
    eventCreatedAt: 'timestamptz',
    subject: 'text?',
    correlationId: 'text',
  },
  text: `select d.id as "deliveryId", d.attempts, d.schedule_attempts as "scheduleAttempts", s.id as "subscriptionId",
          s.max_attempts as "maxAttempts", s.last_failed_at is not null as "hasFailed", s.url, s.integration,
          s.payload, s.signature, s.sealed_headers as "sealedHeaders", s.sealed_secret as "sealedSecret",
          case when s.previous_secret_expires_at > atelier_now() then s.sealed_previous_secret end as "sealedPreviousSecret",
          case when s.older_secret_expires_at > atelier_now() then s.sealed_older_secret end as "sealedOlderSecret",
          e.id as "eventId", e.type as "eventType", ${isTestEvent('e')} as "isTest", e.facts, e.created_at as "eventCreatedAt",
          e.correlation_id as "correlationId", d.subject
     from delivery d
     join webhook_subscription s on s.id = d.subscription_id
     ${eventOf('d', 'id, type, facts, created_at, correlation_id, is_test')} e
    where d.organization_id = :organizationId and d.environment = :environment and d.id = any(:deliveryIds)
      and s.deleted_at is null`,
});

export const loadAttempts = (scope: Scope, deliveryIds: readonly string[]): Promise<AttemptWork[]> =>
  scope.rows(findWork, { deliveryIds });

/** The result of an attempt and its record in the log. */
export interface AttemptOutcome {
  work: AttemptWork;
  result: AttemptResult;
  startedAt: Date;
  durationMs: number;
  responseBody: string | null;
  responseBodyTruncated: boolean;
}

/** Decodes UTF-8. Invalid bytes and NUL, which PostgreSQL cannot store in a text, become U+FFFD. */
const textOf = (body: Buffer): string => body.toString('utf8').replaceAll('\0', '\ufffd');

const correlationHeader = 'x-correlation-id';

function requestOf(
  { sealer, webhookBrand, events }: AttemptServices,
  tenant: Tenant,
  work: AttemptWork,
  sentAt: number,
) {
  const { subscriptionId, sealedHeaders, sealedSecret, sealedPreviousSecret, sealedOlderSecret, eventType } = work;
  const open = (sealed: string, column: SealedColumn) =>
    sealer.open(sealed, sealedColumn(column, subscriptionId, tenant));
  const event = { id: work.eventId, type: eventType, facts: work.facts, createdAt: work.eventCreatedAt };
  const secret = open(sealedSecret, 'sealed_secret');
  const { integration, payload, signature: kind } = work;
  const body =
    integration === null
      ? payloadOf(events, event, payload)
      : integrationPayloadOf(events, event, { integration, secret });
  const own = openHeaders(sealer, sealedHeaders, { id: subscriptionId, tenant });
  const ids = { eventId: eventIds.format(work.eventId), deliveryId: deliveryIds.format(work.deliveryId) };
  const openIfAny = (sealed: string | null, column: SealedColumn) => (sealed === null ? [] : [open(sealed, column)]);
  const earlierSecrets = [
    ...openIfAny(sealedPreviousSecret, 'sealed_previous_secret'),
    ...openIfAny(sealedOlderSecret, 'sealed_older_secret'),
  ];
  const secrets = { brand: webhookBrand, kind, secret, earlierSecrets };
  const signed = sign({ ...ids, eventType, body, sentAt }, secrets);
  // A header of the owner's keeps its value.
  const isOwn = Object.keys(own).some((name) => name.toLowerCase() === correlationHeader);
  const correlation = isOwn ? {} : { [correlationHeader]: work.correlationId };
  return { url: work.url, body, headers: { ...own, ...correlation, 'content-type': 'application/json', ...signed } };
}

/**
 * Sends one attempt, signed with its own timestamp. One deadline covers connecting, sending and reading the answer.
 * @throws the reason of `signal`
 */
export async function makeAttempt(
  services: AttemptServices,
  tenant: Tenant,
  work: AttemptWork,
  signal?: AbortSignal,
): Promise<AttemptOutcome> {
  const { deadlineMs, keptResponseBytes } = services.deliveryPolicy;
  const startedAt = clock.date();
  const failed = (errorClass: Extract<AttemptResult, { errorClass: string }>['errorClass'], durationMs: number) => {
    return { work, result: { errorClass }, startedAt, durationMs, responseBody: null, responseBodyTruncated: false };
  };
  try {
    const request = requestOf(services, tenant, work, startedAt.getTime());
    const { status, headers, body, truncated, durationMs } = await services.egress.request({
      ...request,
      method: 'POST',
      deadlineMs,
      maxResponseBytes: keptResponseBytes,
      ...(signal && { signal }),
    });
    const retryAfterMs = readRetryAfter(headers['retry-after'], clock.now());
    const result = { status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
    return { work, result, startedAt, durationMs, responseBody: textOf(body), responseBodyTruncated: truncated };
  } catch (failure) {
    if (signal?.aborted) throw failure;
    if (failure instanceof EgressFailure) return failed(failure.errorClass, failure.durationMs);
    const { deliveryId, correlationId } = work;
    const isSealed = failure instanceof SealError;
    const message = isSealed
      ? 'a webhook was not sent, because its secret cannot be opened: SEALING_KEYS lacks its key'
      : 'an attempt failed unexpectedly';
    services.log.error({ err: failure, deliveryId, correlationId }, message);
    return failed(isSealed ? unreadable : unforeseen, clock.now() - startedAt.getTime());
  }
}
