import { expect, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { withinMinute } from '../tenancy/rate-windows.ts';
import { until } from '../until.ts';
import { connectInSandbox } from './connect-in-sandbox.ts';
import { eventsScene, eventsUrl, readPayload } from './events-scene.ts';
import { providerEvents } from './provider-events.ts';

const { slack, hubspot, unipile } = providerEvents;
const scene = eventsScene();

/** A fresh tenant that connected an integration with its test key, and the data that it got for its events. */
async function connected(integration: string) {
  const { testKey } = await scene.product.createTenant({ plan: 'enterprise' });
  const api = apiClient(scene.process.api, testKey);
  await connectInSandbox(api, scene.process.api, integration);
  const { integrations } = (await api.get('/v1/integrations')).body.data;
  return { api, ...integrations.find(({ id }: { id: string }) => id === integration).sandbox };
}

test('a connection in the sandbox shows how to send events as the provider, until it is disconnected', async () => {
  const { api, eventsUrl: url, account, signingSecret } = await connected('slack');
  expect(url).toBe(eventsUrl('slack'));
  const hook = await scene.listen('slack', 'message_received', api);
  const send = (id: string) => scene.send('slack', slack.sign(signingSecret, slack.message(account, id)));
  let sent = 0;
  await withinMinute(async () => {
    const answer = await send(`Ev${++sent}`);
    expect(answer).toMatchObject({ status: 200, body: { received: true } });
    // Each counts as a request of the tenant, because it costs as much.
    const left = Number(answer.headers.get('x-ratelimit-remaining'));
    expect(Number((await send(`Ev${++sent}`)).headers.get('x-ratelimit-remaining'))).toBe(left - 1);
  });
  const received = await scene.receiver.has(hook.path, sent);
  for (const one of received) expect(readPayload(one, hook.secret).integration).toBe('slack');
  expect((await api.delete('/v1/integrations/slack/connection')).status).toBe(200);
  // The account is no longer known, so that nothing is proven.
  expect((await send('Ev-after')).status).toBe(401);
  const data = { channel: 'C1', user: 'U1', text: 'hello', ts: '1503435956.000247' };
  expect((await api.post('/v1/integrations/slack/triggers/message_received', data)).status).toBe(409);
  // The webhook stays, and hears again of what happens after the next consent.
  await connectInSandbox(api, scene.process.api, 'slack');
  expect((await api.post('/v1/integrations/slack/triggers/message_received', data)).status).toBe(202);
  expect(await scene.receiver.has(hook.path, sent + 1)).toHaveLength(sent + 1);
});

test('an event that no webhook names is in the list of events, for who reads it', async () => {
  const { api, account, signingSecret } = await connected('slack');
  const read = async () => (await api.get('/api/v1/events?types=slack.message_received')).body.data.events;
  const send = (id: string) => scene.send('slack', slack.sign(signingSecret, slack.message(account, id)));
  expect((await send('Ev-before')).status).toBe(200);
  expect(await read()).toEqual([]);
  for (const id of ['Ev-read', 'Ev-read', 'Ev-next']) expect((await send(id)).status).toBe(200);
  const events = await until('both are listed', async () => {
    const found = await read();
    return found.length > 1 && found;
  });
  expect(events).toHaveLength(2);
  expect(events[0]).toMatchObject({ type: 'slack.message_received', data: { text: expect.any(String) } });
});

test('LinkedIn is played with the secret alone', async () => {
  const { api, account, signingSecret } = await connected('linkedin');
  const hook = await scene.listen('linkedin', 'message_received', api);
  expect((await scene.send('linkedin', unipile.send('another', unipile.message(account, 'm1')))).status).toBe(401);
  const events = unipile.send(signingSecret, unipile.message(account, 'm1'));
  expect((await scene.send('linkedin', events)).status).toBe(200);
  const [delivered] = await scene.receiver.has(hook.path, 1);
  expect(readPayload(delivered!, hook.secret).type).toBe('linkedin.message_received');
});

test("a storm of one tenant's events does not hold up another's", async () => {
  const [stormy, calm] = [await connected('hubspot'), await connected('slack')];
  const storm = await scene.listen('hubspot', 'contact_created', stormy.api);
  scene.receiver.script(storm.path, () => ({ status: 200, afterMs: 200 }));
  const hook = await scene.listen('slack', 'message_received', calm.api);
  for (let request = 0; request < 3; request++) {
    const contacts = Array.from({ length: 1_000 }, (_, index) =>
      hubspot.contact(Number(stormy.account), request * 1_000 + index),
    );
    const events = hubspot.sign(stormy.signingSecret, contacts, eventsUrl('hubspot'));
    expect((await scene.send('hubspot', events)).status).toBe(200);
  }
  await scene.send('slack', slack.sign(calm.signingSecret, slack.message(calm.account, 'Ev1')));
  await scene.receiver.has(hook.path, 1);
  expect(scene.receiver.to(storm.path).length).toBeLessThan(3_000);
  expect((await stormy.api.delete(`/v1/integrations/hubspot/webhooks/${storm.id}`)).status).toBe(200);
});

test('webhooks receive nothing while the access is expired; what the provider repeats later is delivered then', async () => {
  const { api, account, signingSecret } = await connected('slack');
  const hook = await scene.listen('slack', 'message_received', api);
  const message = { channel: 'C1', text: 'sandbox:auth_expired' };
  const expired = await api.post('/v1/integrations/slack/actions/send_message', message);
  expect(expired).toMatchObject({ status: 401, body: { error: { code: 'auth_expired' } } });
  const missed = slack.message(account, 'Ev-missed');
  expect((await scene.send('slack', slack.sign(signingSecret, missed))).status).toBe(200);
  const data = { channel: 'C1', user: 'U1', text: 'hello', ts: '1503435956.000247' };
  const byHand = () => api.post('/v1/integrations/slack/triggers/message_received', data);
  expect(await byHand()).toMatchObject({ status: 409, body: { error: { details: { status: 'auth_expired' } } } });

  await connectInSandbox(api, scene.process.api, 'slack');
  const { integrations } = (await api.get('/v1/integrations')).body.data;
  const { sandbox } = integrations.find(({ id }: { id: string }) => id === 'slack');
  expect((await scene.send('slack', slack.sign(sandbox.signingSecret, missed))).status).toBe(200);
  expect((await byHand()).status).toBe(202);
  // Had the first been published, there would be three.
  const received = await scene.receiver.has(hook.path, 2);
  expect(received.map((one) => readPayload(one, hook.secret).data.text).sort()).toHaveLength(2);
  const { deliveries } = (await api.get(`/v1/webhooks/${hook.id}/deliveries`)).body.data;
  expect(deliveries).toHaveLength(2);
});
