import type { ThingsOf } from '../openapi/document.ts';
import { addDelivery } from './rows.ts';

/** A webhook and a delivery of it. */
export const webhookThings: ThingsOf = async ({ client, database }) => {
  const receiver = { name: 'Mine', url: 'https://hooks.example.com', events: ['*'] };
  const webhook = (await client.post('/api/v1/webhooks', receiver)).body.data.id;
  const deliveryId = await addDelivery(database, webhook, { status: 'failed' });
  return [
    { prefix: /\/v1\/webhook-events\//, parameter: 'type', id: 'workflow.run.completed' },
    { prefix: /\/v1\/webhooks\//, parameter: 'id', id: webhook },
    { prefix: /\/v1\/webhooks\//, parameter: 'deliveryId', id: deliveryId },
  ];
};
