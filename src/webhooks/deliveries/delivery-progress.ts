import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { DeadLetterProgress, DeliveryProgress } from '../../temporal/contracts/webhooks.ts';
import { holdMs } from '../core/admission.ts';
import type { DeliveryStatus } from '../core/delivery-status.ts';
import { describeWebhook, failureSentence } from '../core/failure-sentence.ts';
import { leaving } from '../dead-letters/dead-letter-workflows-sql.ts';
import type { DeliveryPolicy } from '../dispatch/delivery-policy.ts';

interface ProgressRow {
  status: DeliveryStatus;
  attempts: number;
  statusCode: number | null;
  errorClass: string | null;
  webhookName: string;
  webhookUrl: string;
  /** Until its next attempt; 0 when none is scheduled. */
  waitMs: number;
  ageMs: number;
  isLeased: boolean;
  /** Whether it is to have no workflow. */
  isLeft: boolean;
}

const findDelivery = statement({
  name: 'delivery.progress',
  parameters: { deliveryId: 'uuid' },
  row: {
    status: typed<DeliveryStatus>('text'),
    attempts: 'int',
    statusCode: 'int?',
    errorClass: 'text?',
    webhookName: 'text',
    webhookUrl: 'text',
    waitMs: 'float8',
    ageMs: 'float8',
    isLeased: 'boolean',
    isLeft: 'boolean',
  },
  text: `select d.status, d.attempts, d.status_code as "statusCode", d.error_class as "errorClass",
          s.name as "webhookName", s.url as "webhookUrl",
          greatest(0, round(extract(epoch from next_attempt_at - atelier_now()) * 1000))::float8 as "waitMs",
          (extract(epoch from atelier_now() - d.created_at) * 1000)::float8 as "ageMs",
          coalesce(leased_until > atelier_now(), false) as "isLeased", coalesce(parked_at <= '${leaving}',
            false) as "isLeft"
     from delivery d join webhook_subscription s on s.id = d.subscription_id
    where d.organization_id = :organizationId and d.environment = :environment and d.id = :deliveryId`,
});

/** Why a delivery is a dead letter. */
export const whyDead = ({
  attempts,
  statusCode,
  errorClass,
  webhookName,
  webhookUrl,
}: Pick<ProgressRow, 'attempts' | 'statusCode' | 'errorClass' | 'webhookName' | 'webhookUrl'>) =>
  `the webhook ${describeWebhook(webhookName, webhookUrl)} did not accept it: ${failureSentence(errorClass, statusCode)} after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`;

/** The progress of a delivery, worded for operators. */
function progressOf(row: ProgressRow): DeliveryProgress {
  const { status } = row;
  switch (status) {
    case 'pending':
    case 'retrying':
      return { kind: 'wait', ms: row.waitMs };
    case 'dead_lettered':
      return { kind: 'dead_lettered', why: whyDead(row) };
    case 'delivered':
    case 'failed':
      return { kind: 'over', status };
  }
}

/** A delivery without a row needs no more work. */
const gone: DeliveryProgress = { kind: 'over', status: 'failed' };

/** The state of a delivery. */
export async function findProgress(scope: Scope, deliveryId: string): Promise<DeliveryProgress> {
  const row = await scope.one(findDelivery, { deliveryId });
  return row ? progressOf(row) : gone;
}

/** The state of a delivery that may be a dead letter. */
export async function findDeadLetterProgress(scope: Scope, deliveryId: string): Promise<DeadLetterProgress> {
  const row = await scope.one(findDelivery, { deliveryId });
  return row?.status === 'dead_lettered' && row.isLeft ? { kind: 'left' } : row ? progressOf(row) : gone;
}

const leftAlone = (row: ProgressRow) => row.waitMs === 0 && (row.status === 'pending' || row.status === 'retrying');

/**
 * Waits for the end of an attempt that is due.
 * @param pause waits until the next look
 * @returns how the delivery stands: `wait` with the time after which to ask again when the attempt has not begun
 */
export async function awaitAttempt(
  scope: Scope,
  deliveryId: string,
  { heldLookMs }: Pick<DeliveryPolicy, 'heldLookMs'>,
  pause: () => Promise<void>,
): Promise<DeliveryProgress> {
  const begun = performance.now();
  for (;;) {
    const row = await scope.one(findDelivery, { deliveryId });
    if (!row) return gone;
    if (!leftAlone(row)) return progressOf(row);
    if (!row.isLeased && performance.now() - begun > heldLookMs) {
      return { kind: 'wait', ms: holdMs(heldLookMs, row.ageMs) };
    }
    await pause();
  }
}
