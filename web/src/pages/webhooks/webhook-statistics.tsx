export const WebhookStatistics = (_: { webhookId: string }) => null;
