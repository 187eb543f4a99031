import { z } from '@hono/zod-openapi';
import { eventTypes } from '../../../src/services.ts';
import { longestHeaderValue, mostHeaders } from '../../../src/webhooks/check-subscription.ts';
import { everyEvent } from '../../../src/webhooks/core/events.ts';
import { defaultMaxAttempts, mostAttempts } from '../../../src/webhooks/core/retry-schedule.ts';
import {
  type DisabledReason,
  disabledReasons,
  subscriptionStates,
} from '../../../src/webhooks/core/subscription-state.ts';
import { defaultConcurrency } from '../../../src/webhooks/subscriptions.ts';
import { texts } from '../free-form.ts';
import { prefixedIdInPath } from '../ids.ts';
import { listSchema } from '../pagination.ts';
import { nameText } from '../text.ts';

export const webhookId = 'whk_0199ccccdddd7eee8fff000011112222';
export const webhookInPath = prefixedIdInPath('id', webhookId);

const filters = [...eventTypes, everyEvent] as const;

const events = z
  .array(z.enum(filters, `Expected one of ${filters.join(', ')}.`))
  .min(1, 'Expected at least one event type.')
  .max(50, 'Expected at most 50 event types.')
  .superRefine((given, context) => {
    for (const [index, filter] of given.entries()) {
      if (given.indexOf(filter) < index) context.addIssue({ code: 'custom', path: [index], message: 'Listed twice.' });
    }
  })
  .openapi({ description: 'Event types. `*` subscribes to all, including future ones.' });

const mostPerMinute = 60_000;
const mostAtOnce = 64;

const fields = {
  name: nameText,
  url: z.string().max(2_048, 'Expected at most 2048 characters.').openapi({
    description: 'An https URL with a public address. Redirects are not followed.',
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
    .max(mostAttempts)
    .openapi({ description: `Default ${defaultMaxAttempts}, over about two and a half days.` }),
  headers: texts.openapi({
    description: `Custom headers sent with every delivery: at most ${mostHeaders}, each value at most ${longestHeaderValue} characters. Stored encrypted.`,
  }),
  rateLimit: z
    .int()
    .min(1)
    .max(mostPerMinute)
    .nullable()
    .openapi({ description: 'The most attempts per minute. Default null: no limit.' }),
  concurrency: z
    .int()
    .min(1)
    .max(mostAtOnce)
    .openapi({ description: `The most concurrent attempts. Default ${defaultConcurrency}.` }),
};

const { name, url } = fields;
export const newWebhookSchema = z
  .object({ ...z.object(fields).partial().shape, name, url, events })
  .openapi('NewWebhook');
export type NewWebhookExample = z.input<typeof newWebhookSchema>;

export const webhookChangeSchema = z.object(fields).partial().openapi('WebhookChange');
export type WebhookChangeExample = z.input<typeof webhookChangeSchema>;

const secret = z.string().openapi({ description: 'The key that signs deliveries. It is shown only here.' });

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

export const webhookSchema = z.object(shown).openapi('Webhook');
export type WebhookAnswer = z.input<typeof webhookSchema>;

export const createdWebhookSchema = z.object({ ...shown, secret }).openapi('CreatedWebhook');
export const webhookListSchema = listSchema('webhooks', webhookSchema);

export const rotatedSecretSchema = z.object({
  id: z.string(),
  secret,
  previousSecretExpiresAt: z.iso
    .datetime()
    .openapi({ description: 'Until then deliveries are signed with the previous secret too, in additional headers.' }),
});
