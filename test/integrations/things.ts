import type { ThingsOf } from '../openapi/document.ts';

/** Everybody has each integration and its events, and nobody another's connection or webhook of it. */
export const integrationThings: ThingsOf = async ({ client }) => {
  const given = { event: 'message_received', url: 'https://hooks.example.com/slack' };
  const webhook = (await client.post('/api/v1/integrations/slack/webhooks', given)).body.data.id;
  return [
    { prefix: /\/v1\/integrations\//, parameter: 'integrationId', id: 'slack' },
    { prefix: /\/v1\/integrations\//, parameter: 'actionId', id: 'send_message' },
    { prefix: /\/v1\/integrations\//, parameter: 'event', id: 'message_received' },
    { prefix: /\/v1\/integrations\//, parameter: 'webhookId', id: webhook },
  ];
};
