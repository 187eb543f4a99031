import { z } from '@hono/zod-openapi';
import { headerNamePattern, headerValuePattern } from '../../../src/platform/core/http-headers.ts';
import { eventTypes } from '../../../src/services.ts';
import {
  defaultOptions,
  type Ordering,
  orderings,
  type PayloadForm,
  payloadForms,
  type SignatureKind,
  signatureKinds,
} from '../../../src/webhooks/core/delivery-options.ts';
import { everyEvent } from '../../../src/webhooks/core/events.ts';
import { type HealthState, healthStates } from '../../../src/webhooks/core/health.ts';
import { maxCounted } from '../../../src/webhooks/core/retry-release.ts';
import { defaultMaxAttempts, maxAllowedAttempts } from '../../../src/webhooks/core/retry-schedule.ts';
import {
  type DisabledReason,
  disabledReasons,
  subscriptionStates,
} from '../../../src/webhooks/core/subscription-state.ts';
import { maxHeaders, maxHeaderValueLength } from '../../../src/webhooks/subscriptions/check-subscription.ts';
import { maxOfSameUrl } from '../../../src/webhooks/subscriptions/same-url.ts';
import { defaultConcurrency } from '../../../src/webhooks/subscriptions/subscriptions.ts';
import { texts } from '../free-form.ts';
import { prefixedIdInPath } from '../ids.ts';
import { listSchema } from '../pagination.ts';
import { nameText, text } from '../text.ts';

export const webhookId = 'whk_0199ccccdddd7eee8fff000011112222';
export const webhookInPath = prefixedIdInPath('id', webhookId);

export const eventTypeSchema = z.enum(eventTypes).openapi('WebhookEventType');

// A plain text in the document: a client that was generated before an event type was added can still subscribe to it.
const subscribed = z
  .enum([...eventTypes, everyEvent], `Expected one of ${[...eventTypes, everyEvent].join(', ')}.`)
  .openapi({ type: 'string', enum: undefined as never, description: 'An event type, or `*`.' });

const events = z
  .array(subscribed)
  .min(1, 'Expected at least one event type.')
  .max(50, 'Expected at most 50 event types.')
  .superRefine((given, context) => {
    for (const [index, filter] of given.entries()) {
      if (given.indexOf(filter) < index) context.addIssue({ code: 'custom', path: [index], message: 'Listed twice.' });
    }
  })
  .openapi({ uniqueItems: true, description: 'Event types. `*` subscribes to all, including future ones.' });

/** Characters of an expression. */
const maxFilterLength = 2_000;
const maxPerMinute = 60_000;
const maxConcurrency = 64;

const meanings = (of: Record<string, string>) =>
  Object.entries(of)
    .map(([value, meaning]) => `\`${value}\`: ${meaning}.`)
    .join(' ');
const payloadForm = z.enum(Object.keys(payloadForms) as PayloadForm[]);
const ordering = z.enum(Object.keys(orderings) as Ordering[]);
const signatureKind = z.enum(Object.keys(signatureKinds) as SignatureKind[]);

const fields = {
  name: nameText,
  url: z
    .string()
    .max(2_048, 'Expected at most 2048 characters.')
    .openapi({
      format: 'uri',
      pattern: '^https?://\\S+$',
      description: [
        'An https URL with a public address and without a user name or password; http is for installations that are not in',
        'production. Redirects are not followed.',
        `At most ${maxOfSameUrl} active webhooks may send the same event to the same URL.`,
      ].join(' '),
    }),
  events,
  isActive: z.boolean().openapi({
    description: [
      `Default true. True: ${subscriptionStates.meaning('active')} False: ${subscriptionStates.meaning('off')}`,
      'Turning it on again forgets earlier failures.',
    ].join(' '),
  }),
  maxAttempts: z
    .int()
    .min(1)
    .max(maxAllowedAttempts)
    .openapi({ description: `Default ${defaultMaxAttempts}, over about two and a half days.` }),
  headers: texts.openapi({
    maxProperties: maxHeaders,
    additionalProperties: { type: 'string', maxLength: maxHeaderValueLength, pattern: headerValuePattern.source },
    ...({ propertyNames: { pattern: headerNamePattern.source } } as object),
    description:
      'Custom headers sent with every delivery. Names are compared without regard to case. Headers of the connection and of signatures, `Content-Type`, `User-Agent` and `$ref` are refused. At most 8 KiB together. Stored encrypted.',
  }),
  rateLimit: z
    .int()
    .min(1)
    .max(maxPerMinute)
    .nullable()
    .openapi({ description: 'The most attempts per minute. Default null: no limit.' }),
  concurrency: z
    .int()
    .min(1)
    .max(maxConcurrency)
    .openapi({ description: `The most concurrent attempts. Default ${defaultConcurrency}.` }),
  filter: text(maxFilterLength)
    .nullable()
    .openapi({
      type: ['string', 'null'],
      description: [
        'A CEL expression over `event`, which is the whole body of an event, whatever `payload` says:',
        '`event.data.status == "FAILED"`. Events for which it is not true are not delivered. Default null: all events of the',
        'given types are.',
      ].join(' '),
    }),
  payload: payloadForm.openapi({
    description: [
      `What the body of a request has. Default \`${defaultOptions.payload}\`. ${meanings(payloadForms)}`,
      'If the data of an event has no `id`, the body has the id of the event.',
    ].join(' '),
  }),
  signature: signatureKind.openapi({
    description: `How requests are signed. Default \`${defaultOptions.signature}\`. ${meanings(signatureKinds)}`,
  }),
  ordering: ordering.openapi({
    description: [
      `In which order deliveries are made. Default \`${defaultOptions.ordering}\`. ${meanings(orderings)}`,
      'An event whose data has no `id` waits for no other. The order applies to events that occur after it was chosen.',
    ].join(' '),
  }),
};

const { name, url } = fields;
export const newWebhookSchema = z
  .object({ ...z.object(fields).partial().shape, name, url, events })
  .openapi('NewWebhook');
export type NewWebhookExample = z.input<typeof newWebhookSchema>;

export const webhookChangeSchema = z.object(fields).partial().openapi('WebhookChange');
export type WebhookChangeExample = z.input<typeof webhookChangeSchema>;

const secret = z.string().openapi({
  description: 'The key that signs deliveries. It is shown only here. Absent with `signature: ed25519`.',
});

const shown = {
  id: z.string(),
  name: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  isActive: z.boolean(),
  maxAttempts: z.int(),
  headers: texts,
  rateLimit: z.int().nullable(),
  concurrency: z.int(),
  filter: z.string().nullable(),
  filterErrors: z.int().openapi({
    description: 'How often the filter failed since it was given. An event for which it fails is not delivered.',
  }),
  payload: payloadForm,
  signature: signatureKind,
  ordering,
  publicKey: z.string().nullable().openapi({
    description: 'With `signature: ed25519` the key that verifies deliveries: `whpk_` and base64. Null otherwise.',
  }),
  disabledReason: z
    .enum(Object.keys(disabledReasons) as DisabledReason[])
    .nullable()
    .openapi({
      description: [
        'Why the webhook was turned off automatically; null otherwise.',
        ...Object.entries(disabledReasons).map(([reason, meaning]) => `\`${reason}\`: ${meaning}.`),
      ].join(' '),
    }),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
};

const webhookSchema = z.object(shown).openapi('Webhook');
export type WebhookAnswer = z.input<typeof webhookSchema>;

const health = z
  .object({
    state: z.enum(Object.keys(healthStates) as HealthState[]).openapi({
      description: Object.entries(healthStates)
        .map(([state, meaning]) => `\`${state}\`: ${meaning}.`)
        .join(' '),
    }),
    failingSince: z.iso.datetime().nullable().openapi({
      description: 'Since when every attempt has failed; null if the latest one succeeded.',
    }),
    nextProbeAt: z.iso.datetime().nullable().openapi({
      description: 'While the state is `open`: when the next attempt may be made. Otherwise null.',
    }),
    waiting: z.int().openapi({
      description: `Deliveries with attempts still to come. ${maxCounted} means ${maxCounted} or more.`,
    }),
    deadLettered: z.int().openapi({
      description: `Deliveries that can be replayed. ${maxCounted} means ${maxCounted} or more.`,
    }),
    skipped: z.int().openapi({
      description: [
        'Events that were recorded and not delivered, because as many deliveries waited as the plan allows. `recover`',
        'delivers them.',
      ].join(' '),
    }),
    successRate24h: z
      .number()
      .nullable()
      .openapi({
        description: [
          'The share of attempts that succeeded, from 0 to 1, in the current hour and the 23 hours before it; null if there',
          'were none.',
        ].join(' '),
      }),
  })
  .openapi('WebhookHealth', { description: 'The health of deliveries to the webhook.' });
export const webhookDetailSchema = z.object({ ...shown, health }).openapi('WebhookDetail');

export const createdWebhookSchema = z.object({ ...shown, secret: secret.optional() }).openapi('CreatedWebhook');
export const changedWebhookSchema = z
  .object({
    ...shown,
    secret: z
      .string()
      .optional()
      .openapi({ description: 'The new secret, if `signature` became `hmac`. It is shown only here.' }),
  })
  .openapi('ChangedWebhook');
export const webhookListSchema = listSchema('webhooks', webhookSchema);

export const rotatedSecretSchema = z.object({
  id: z.string(),
  secret: secret.optional(),
  publicKey: z
    .string()
    .optional()
    .openapi({ description: 'Present with `signature: ed25519`, in place of the secret.' }),
  previousSecretExpiresAt: z.iso
    .datetime()
    .openapi({ description: 'Until then deliveries are signed with the previous secret or private key too.' }),
});
