import { expect, jest, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { addConnection } from '../integrations/connection-rows.ts';
import { providerEvents } from '../integrations/provider-events.ts';
import { openProduct } from '../product.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

const { slack } = providerEvents;
const secret = '8f742231b10e8888abcd99yyyzzz85a5';
const env = {
  SLACK_CLIENT_ID: 'a-client',
  SLACK_CLIENT_SECRET: 'its-secret',
  SLACK_SIGNING_SECRET: secret,
  EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
};

test('an event that was not acknowledged is sent again: it is taken where it was lost, and dropped where it was not', async () => {
  const product = await openProduct({ env });
  try {
    const { organizationId, liveKey } = await product.createTenant({ plan: 'enterprise' });
    await addConnection(product.database, {
      organizationId,
      environment: 'live',
      integration: 'slack',
      accountId: 'T1',
    });
    const send = (api: string, id: string) => {
      const { body, headers } = slack.sign(secret, slack.message('T1', id));
      return apiClient(api).post('/v1/integrations/slack/events', body, headers);
    };
    const count = async () => {
      const { rows } = await product.database.pool.query(
        'select (select count(*)::int from event) as events, (select count(*)::int from delivery) as deliveries',
      );
      return rows[0];
    };
    const doomed = await product.start(['api'], { FAIL_POINT: 'inbound.proven' });
    const hook = { event: 'message_received', url: 'http://127.0.0.1:9/' };
    expect((await apiClient(doomed.api, liveKey).post('/v1/integrations/slack/webhooks', hook)).status).toBe(201);
    await expect(send(doomed.api, 'Ev1')).rejects.toThrow();
    await doomed.ended;
    expect(await count()).toEqual({ events: 0, deliveries: 0 });

    const late = await product.start(['api'], { FAIL_POINT: 'inbound.committed' });
    await expect(send(late.api, 'Ev1')).rejects.toThrow();
    await late.ended;
    expect(await count()).toEqual({ events: 1, deliveries: 1 });

    const { api } = await product.start(['api']);
    for (const id of ['Ev1', 'Ev1', 'Ev2']) expect((await send(api, id)).status).toBe(200);
    expect(await count()).toEqual({ events: 2, deliveries: 2 });
  } finally {
    await product.close();
  }
});
