import { type NewWebhookExample, type WebhookChangeExample, webhookId } from './webhook.ts';

/** Webhooks have no ids or statuses that differ between the dialects. */
const alike = <Value>(value: Value) => ({ A: value, B: value });

const events: NewWebhookExample['events'] = ['workflow.run.completed', 'workflow.run.failed'];
const given = { name: 'Order system', url: 'https://hooks.example.com/runs', events };
const headers = { 'X-Team': 'orders' };

export const newWebhookExamples = { A: given, B: { ...given, headers, maxAttempts: 10, rateLimit: 600 } };
export const webhookChangeExamples = {
  A: { events: ['*'] },
  B: { name: 'Orders', isActive: true, filter: 'event.data.durationMs > 60000' },
} satisfies Record<string, WebhookChangeExample>;

const createdAt = '2026-11-21T09:30:00.000Z';
const shown = {
  id: webhookId,
  ...given,
  isActive: true,
  maxAttempts: 19,
  headers,
  rateLimit: null,
  concurrency: 8,
  filter: 'event.data.status == "FAILED"',
  filterErrors: 0,
  payload: 'full' as const,
  signature: 'hmac' as const,
  ordering: 'none' as const,
  publicKey: null,
  disabledReason: null,
  createdAt,
  updatedAt: createdAt,
};
const secret = `whsec_${'k3XFdN0uUl1pGkLPYJ7n'.repeat(2)}Zq8=`;

export const webhookExamples = alike(shown);
export const webhookDetailExamples = alike({
  ...shown,
  health: {
    state: 'failing' as const,
    failingSince: '2026-11-21T11:02:17.310Z',
    nextProbeAt: null,
    waiting: 412,
    deadLettered: 0,
    skipped: 0,
    successRate24h: 0.9641,
  },
});
export const createdWebhookExamples = alike({ ...shown, secret });
export const webhookListExamples = alike({
  webhooks: [shown],
  pagination: { total: 1, limit: 50, offset: 0, hasMore: false },
});
export const rotatedSecretExamples = alike({
  id: webhookId,
  secret,
  previousSecretExpiresAt: '2026-11-22T09:30:00.000Z',
});
