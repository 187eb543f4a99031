import { z } from '@hono/zod-openapi';
import { clock } from '../../../src/platform/clock.ts';
import { egressErrorClasses } from '../../../src/platform/core/egress-errors.ts';
import { describeStates } from '../../../src/platform/core/states.ts';
import { type DeliveryDelay, delayReasons } from '../../../src/webhooks/core/admission.ts';
import { deliveryStates, deliveryStatuses } from '../../../src/webhooks/core/delivery-status.ts';
import { unforeseen, unreadable } from '../../../src/webhooks/core/retry-schedule.ts';
import { recoveredClasses } from '../../../src/webhooks/deliveries/recovery.ts';
import { prefixedIdInPath } from '../ids.ts';
import { orNull } from '../in-dialect.ts';
import { listSchema, pageQuery } from '../pagination.ts';
import { eventTypeSchema, webhookInPath } from './webhook.ts';

const deliveryId = 'dlv_0199eeeeffff7000811122223333aaaa';
export const deliveryInPath = webhookInPath.extend(prefixedIdInPath('deliveryId', deliveryId).shape);

export const deliveryQuery = z.object({
  ...pageQuery,
  status: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(deliveryStatuses))
    .optional()
    .openapi({ type: 'string', enum: [...deliveryStatuses], description: 'Read in upper or lower case.' }),
  eventType: eventTypeSchema.optional(),
});

const answered = {
  statusCode: z.int().nullable(),
  responseBody: z.string().nullable().openapi({
    description:
      'The first 16 KiB of the response body; the first 1,000 characters of the longest where an answer would have more than 2 MiB.',
  }),
  responseBodyTruncated: z.boolean(),
  errorClass: z
    .string()
    .nullable()
    .openapi({
      description: [
        `Why no complete response was received: ${[...egressErrorClasses, unforeseen].join(', ')}; ${unreadable}: nothing was`,
        "sent, because the process could not open the webhook's secret or headers. Or why there are no more attempts:",
        ' subscription_off (the webhook was turned off), subscription_deleted, discarded. Otherwise null.',
      ].join(' '),
    }),
};

const delayReasonSchema = z
  .object({
    reason: z.enum(Object.keys(delayReasons) as DeliveryDelay['reason'][]).openapi({
      description: Object.entries(delayReasons)
        .map(([reason, meaning]) => `\`${reason}\`: ${meaning}.`)
        .join(' '),
    }),
    until: z.iso
      .datetime()
      .nullable()
      .openapi({ description: 'The earliest time of the next attempt; null if it is not known.' }),
  })
  .openapi('DeliveryDelay', { description: 'Why the next attempt of a delivery waits although it may be due.' });

const shown = {
  id: z.string(),
  eventId: z.string().openapi({ description: 'The same on every attempt and replay. Use it to detect duplicates.' }),
  eventType: eventTypeSchema,
  status: z.enum(deliveryStatuses).openapi({ description: describeStates(deliveryStates) }),
  ...answered,
  durationMs: z.int().nullable().openapi({ description: 'The duration of the last attempt.' }),
  attempts: z.int().openapi({ description: 'The number of attempts, including those of replays.' }),
  retryCount: z.int().openapi({ description: 'The number of attempts after the first.' }),
  nextAttemptAt: z.iso.datetime().nullable().openapi({
    description: 'When the next attempt is due; null if none is. If it is made later, `heldBack` says why.',
  }),
  heldBack: orNull(delayReasonSchema),
  replayable: z.boolean().openapi({ description: 'Whether the delivery can be replayed.' }),
  contentExpungedAt: z.iso.datetime().nullable().openapi({
    description: 'When the body was removed. The delivery cannot be sent again since. Null while the body is there.',
  }),
  isTest: z.boolean().openapi({ description: 'Whether it is a test event or a requested example.' }),
  correlationId: z.string().openapi({
    description: 'The `x-correlation-id` of the request that caused the event. Each attempt has it in that header too.',
  }),
  createdAt: z.iso.datetime(),
};

const attempt = z.object({
  number: z.int().openapi({ description: 'Counts from 1, across replays.' }),
  startedAt: z.iso.datetime(),
  durationMs: z.int(),
  ...answered,
});

const deliverySchema = z.object(shown).openapi('Delivery');
export type DeliveryAnswer = z.input<typeof deliverySchema>;
export const deliveryListSchema = listSchema('deliveries', deliverySchema);
export const deliveryDetailSchema = z
  .object({
    ...shown,
    requestBody: z.string().nullable().openapi({
      description: 'The body of its requests, the same bytes on every attempt. Null when it was removed.',
    }),
    attemptLog: z.array(attempt).openapi({ description: 'The latest 100 attempts, oldest first.' }),
  })
  .openapi('DeliveryDetail');

/** The answer to a test and to a replay. */
export const queuedSchema = z.object({ deliveryId: z.string(), status: z.enum(deliveryStatuses) });

const time = z.iso
  .datetime({ offset: true, error: 'Expected an ISO 8601 time with an offset, such as 2026-11-21T09:30:00Z.' })
  .transform((text) => new Date(text));
const timeInDocument = {
  type: 'string',
  format: 'date-time',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T[0-9:.]+(Z|[+-]\\d{2}:\\d{2})$',
} as const;

export const recoverySchema = z
  .object({
    since: time
      .refine((since) => since.getTime() <= clock.now(), 'Expected a time in the past.')
      .openapi({
        ...timeInDocument,
        description: 'A time in the past, at most as many days ago as the plan keeps deliveries.',
      }),
    until: time.optional().openapi({
      ...timeInDocument,
      description: 'Not before `since`. Later deliveries and events are left out. Default: now.',
    }),
    eventTypes: z
      .array(eventTypeSchema)
      .min(1, 'Expected at least one event type.')
      .max(50, 'Expected at most 50 event types.')
      .optional()
      .openapi({ description: 'Only events of these types. Default: all.' }),
    statusClass: z
      .enum(recoveredClasses, `Expected one of ${recoveredClasses.join(', ')}.`)
      .optional()
      .openapi({
        type: 'string',
        enum: undefined as never,
        pattern: '^(4xx|5xx|error)$',
        description:
          'Only dead letters whose last attempt was answered with such a status; `error`: only those whose last attempt got no answer, or that had no attempt. With this filter, events without a delivery are left out. Default: all.',
      }),
  })
  .refine(({ since, until }) => !(until && until < since), {
    path: ['until'],
    error: 'Expected a time not before `since`.',
  })
  .openapi('DeliveryRecovery');

export const recoveredSchema = z.object({
  recoveryId: z.string().openapi({ description: '`rcv_…`' }),
  queued: z.int().openapi({ description: 'The number of deliveries that were queued at once.' }),
  complete: z.boolean().openapi({ description: 'Whether these are all. If not, the others are queued soon.' }),
});

const dayMs = 86_400_000;

const alike = <Value>(value: Value) => ({ A: value, B: value });

const createdAt = '2026-11-21T09:30:01.204Z';
const entry = {
  id: deliveryId,
  eventId: 'evt_0199eeeeffff7000811122223333bbbb',
  eventType: 'workflow.run.completed' as const,
  status: 'retrying' as const,
  statusCode: 503,
  responseBody: 'Busy.',
  responseBodyTruncated: false,
  errorClass: null,
  durationMs: 212,
  attempts: 2,
  retryCount: 1,
  nextAttemptAt: '2026-11-21T09:30:05.702Z',
  heldBack: null,
  replayable: false,
  contentExpungedAt: null,
  isTest: false,
  correlationId: 'order-4711',
  createdAt,
};
const attempts = [1, 2].map((number) => ({
  number,
  startedAt: createdAt,
  durationMs: 212,
  statusCode: 503,
  responseBody: 'Busy.',
  responseBodyTruncated: false,
  errorClass: null,
}));

export const deliveryListExamples = alike({
  deliveries: [entry],
  pagination: { total: 1, limit: 50, offset: 0, hasMore: false },
});
const requestBody = JSON.stringify({
  id: entry.eventId,
  type: entry.eventType,
  createdAt,
  data: {
    id: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
    workflowId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff1111',
    workflowName: 'Summarize',
    status: 'COMPLETED',
    durationMs: 1840,
    tokensUsed: 41,
  },
});
export const deliveryDetailExamples = alike({ ...entry, requestBody, attemptLog: attempts });
export const queuedExamples = alike({ deliveryId, status: 'pending' as const });
/** The Monday before the process started: a time that the operation accepts. */
const monday = new Date(Math.floor((clock.now() - 4 * dayMs) / (7 * dayMs)) * 7 * dayMs + 4 * dayMs);
export const recoveryExamples = alike({ since: monday.toISOString() });
export const recoveredExamples = alike({
  recoveryId: 'rcv_0199ffffaaaa7bbb8cccdddd00001111',
  queued: 3,
  complete: true,
});
