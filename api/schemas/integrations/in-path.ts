import { z } from '@hono/zod-openapi';
import { prefixedIdInPath } from '../ids.ts';
import { webhookId } from '../webhooks/webhook.ts';
import { integrationInPath } from './integration.ts';

const event = z.string().openapi({ param: { name: 'event', in: 'path', example: 'message_received' } });

export const triggerInPath = integrationInPath.extend({ event });
export const integrationWebhookInPath = integrationInPath.extend(prefixedIdInPath('webhookId', webhookId).shape);
