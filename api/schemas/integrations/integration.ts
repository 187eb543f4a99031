import { z } from '@hono/zod-openapi';
import { catalog } from '../../../src/integrations/catalog.ts';
import { integrationStates } from '../../../src/integrations/core/connection-status.ts';
import { describeStates } from '../../../src/platform/core/states.ts';

const ids = catalog.map(({ id }) => id);

export const integrationInPath = z.object({
  integrationId: z.string().openapi({
    param: { name: 'integrationId', in: 'path', example: 'slack' },
    description: `One of ${ids.join(', ')}.`,
  }),
});

const time = z.string().openapi({ format: 'date-time' });

const integrationSchema = z
  .object({
    id: z.string().openapi({ enum: ids }),
    name: z.string(),
    description: z.string(),
    category: z.enum(['communication', 'crm', 'social']),
    connected: z.boolean(),
    status: z.enum([...integrationStates.all, 'not_connected']).openapi({
      description: `${describeStates(integrationStates)} \`not_connected\`: It was never connected, or was disconnected.`,
    }),
    connectedAt: time
      .optional()
      .openapi({ description: 'When the integration was connected. Absent while it is not.' }),
    account: z
      .object({ id: z.string().openapi({ description: 'The id of the account at the provider.' }), name: z.string() })
      .optional()
      .openapi({ description: 'The account of a connected integration.' }),
    eventsError: z.string().optional().openapi({
      description:
        'Why events of the provider do not arrive, or not all of them: the code of the provider, or the kind of the failure. Absent while they do.',
      example: 'Forbidden',
    }),
    sandbox: z
      .object({
        eventsUrl: z.string(),
        account: z.string(),
        signingSecret: z
          .string()
          .openapi({ description: 'Signs events of this account as the provider signs its own.' }),
      })
      .optional()
      .openapi({
        description:
          'How to send an event as the provider does. Present for a connected integration of a test key whose provider sends events.',
      }),
    features: z.object({
      triggers: z.array(z.string()).openapi({ description: 'The events that webhooks can subscribe to.' }),
      actions: z.array(z.string()),
    }),
  })
  .openapi('Integration');

export const integrationListSchema = z.object({ integrations: z.array(integrationSchema) });

const slack = {
  id: 'slack',
  name: 'Slack',
  description: 'Post messages and open modals, and receive events for messages, mentions and reactions.',
  category: 'communication',
} as const;
const features = {
  triggers: ['message_received', 'mention', 'reaction_added'],
  actions: ['send_message', 'open_modal'],
};
export const integrationListExamples = {
  A: { integrations: [{ ...slack, connected: false, status: 'not_connected' as const, features }] },
  B: {
    integrations: [
      {
        ...slack,
        connected: true,
        status: 'connected' as const,
        connectedAt: '2026-11-20T09:30:00.000Z',
        account: { id: 'T0123456789', name: 'Example Inc.' },
        features,
      },
    ],
  },
};

export const disconnectedSchema = z.object({ success: z.literal(true), message: z.string() });
const disconnected = { success: true as const, message: 'Slack was disconnected.' };
export const disconnectedExamples = { A: disconnected, B: disconnected };

const latency = z.int().min(0).openapi({ description: 'The duration of the request to the provider in milliseconds.' });
export const testedSchema = z
  .object({
    success: z.boolean(),
    latency,
    details: z
      .object({
        workspace: z.string().optional(),
        user: z.string().optional(),
        error: z.string().optional().openapi({ description: 'Why the request failed: a code.' }),
      })
      .openapi({ description: '`workspace` and `user` of a request that succeeded, `error` of one that failed.' }),
  })
  .openapi('IntegrationTestResult');
export const testedExamples = {
  A: { success: true, latency: 112, details: { workspace: 'Example Inc.', user: 'atelier' } },
  B: { success: false, latency: 10_003, details: { error: 'lost' } },
};
