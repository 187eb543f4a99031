import type { ThingsOf } from '../openapi/document.ts';

/** Everybody has each integration, and nobody another's connection of it. */
export const integrationThings: ThingsOf = async () => [
  { prefix: /\/v1\/integrations\//, parameter: 'integrationId', id: 'slack' },
  { prefix: /\/v1\/integrations\//, parameter: 'actionId', id: 'send_message' },
];
