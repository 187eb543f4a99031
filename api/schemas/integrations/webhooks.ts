import { z } from '@hono/zod-openapi';
import { catalog } from '../../../src/integrations/catalog.ts';
import { newWebhookSchema, webhookId } from '../webhooks/webhook.ts';

/** Alike in both dialects. */
export const alike = <Value>(value: Value) => ({ A: value, B: value });

const triggers = [...new Set(catalog.flatMap((integration) => Object.keys(integration.triggers)))];

const event = z.string().openapi({ description: `An event of the integration: one of ${triggers.join(', ')}.` });

const fewestCharacters = 16;
const maxCharacters = 255;
const secretProblem = `Expected ${fewestCharacters} to ${maxCharacters} printable characters.`;

export const newIntegrationWebhookSchema = z
  .object({
    event: z.string().max(60, 'Expected at most 60 characters.').openapi({
      description: 'An event of the integration, such as `message_received`. `slack.message_received` is read too.',
    }),
    url: newWebhookSchema.shape.url,
    secret: z
      .string()
      .regex(new RegExp(`^[\\x20-\\x7e]{${fewestCharacters},${maxCharacters}}$`), secretProblem)
      .optional()
      .openapi({ description: 'The key that signs deliveries. Generated if it is absent.' }),
  })
  .openapi('NewIntegrationWebhook');

const shown = {
  id: z.string(),
  event,
  url: z.string(),
  active: z.boolean(),
  createdAt: z.iso.datetime(),
};
const integrationWebhookSchema = z.object(shown).openapi('IntegrationWebhook');
export type IntegrationWebhookAnswer = z.input<typeof integrationWebhookSchema>;

export const integrationWebhookListSchema = z.object({ webhooks: z.array(integrationWebhookSchema) });
export const createdIntegrationWebhookSchema = z
  .object({ ...shown, secret: z.string().openapi({ description: 'It is shown only here.' }) })
  .openapi('CreatedIntegrationWebhook');

const given = { event: 'message_received', url: 'https://hooks.example.com/slack' };
const example = { id: webhookId, ...given, active: true, createdAt: '2026-11-21T09:30:00.000Z' };
export const newIntegrationWebhookExamples = { A: given, B: { ...given, secret: 'a-secret-of-the-receiver' } };
export const integrationWebhookListExamples = alike({ webhooks: [example] });
export const createdIntegrationWebhookExamples = alike({
  ...example,
  secret: `whsec_${'k3XFdN0uUl1pGkLPYJ7n'.repeat(2)}Zq8=`,
});

/** The data of an event of Slack. */
export const triggerExamples = alike({
  channel: 'C0123456789',
  user: 'U0123456789',
  text: 'Hello',
  ts: '1503435956.000247',
});

const triggered = { eventId: 'evt_0199eeeeffff7000811122223333bbbb' };
export const triggeredSchema = z.object({
  eventId: z.string().openapi({ description: 'The id of the event, as its deliveries carry it.' }),
});
export const triggeredExamples = alike(triggered);
