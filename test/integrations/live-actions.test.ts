import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { addRedirect } from '../../src/connections/redirects.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type FakeSlack, slackRateLimit, startFakeSlack } from '../fakes/slack.ts';
import { type FakeUnipile, startFakeUnipile } from '../fakes/unipile.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { until } from '../until.ts';
import { visit } from './connect-in-sandbox.ts';
import { base, begin, outcomeOf } from './consents.ts';

// A product of its own: a worker of another one would not have the providers' clients.
let product: Product;
let slack: FakeSlack;
let unipile: FakeUnipile;
let live: ApiClient;
let api: string;
let liveKey: string;
const done = 'https://app.example.com/integrated';

beforeAll(async () => {
  [slack, unipile] = await Promise.all([startFakeSlack(), startFakeUnipile()]);
  product = await openProduct({
    env: {
      ...secrets,
      SLACK_CLIENT_ID: slack.clientId,
      SLACK_CLIENT_SECRET: slack.clientSecret,
      SLACK_LOGIN_BASE_URL: slack.origin,
      SLACK_BASE_URL: slack.origin,
      UNIPILE_API_KEY: unipile.apiKey,
      UNIPILE_BASE_URL: unipile.origin,
    },
  });
  ({ api } = await product.start(['api', 'integrations']));
  let organizationId: string;
  ({ organizationId, liveKey } = await product.createTenant({ plan: 'enterprise' }));
  await addRedirect(product.database, organizationId, done, true);
  live = apiClient(api, liveKey);
});
afterAll(async () => {
  await product.close();
  await Promise.all([slack.close(), unipile.close()]);
});

const ask = async (id: string) => (await begin(live, id, { redirectUrl: done })).authUrl;
const connected = async (back: URL) => expect(outcomeOf(await visit(back, api))).toMatchObject({ status: 'connected' });
const perform = (action: string, body: object, key: string = randomUUID()) => {
  const [integration, name] = action.split(' ');
  return live.post(`${base}/${integration}/actions/${name}`, body, { 'idempotency-key': key });
};

test('Slack: a message is posted once for a key, and an unknown outcome is reported', async () => {
  await connected(await slack.consent(await ask('slack')));
  const message = { channel: 'C0123456789', text: 'The build is green.' };
  const key = randomUUID();
  const answers = [
    await perform('slack send_message', message, key),
    await perform('slack send_message', message, key),
  ];
  const { ts } = slack.posted[0]!;
  expect(answers.map(({ status, body }) => [status, body.data])).toEqual(
    Array(2).fill([200, { channel: message.channel, ts }]),
  );
  const unknown = await perform('slack send_message', { channel: 'C9999', text: 'x' });
  expect([unknown.status, unknown.body.error]).toMatchObject([
    400,
    { code: 'invalid_payload', details: { errors: [{ path: 'channel' }] } },
  ]);
  slack.next('lose the answer');
  const lost = await perform('slack send_message', { ...message, text: 'lost' });
  expect([lost.status, lost.body.error]).toMatchObject([
    502,
    { code: 'action_failed', details: { outcome: 'unknown' } },
  ]);
  slack.next({ fail: slackRateLimit(30) });
  const limited = await perform('slack send_message', message);
  expect([limited.status, limited.body.error.code, limited.headers.get('retry-after')]).toEqual([
    429,
    'rate_limited',
    '30',
  ]);
  expect(slack.posted.map(({ text }) => text)).toEqual([message.text, 'lost']);
});

test('LinkedIn: a person is invited whose profile is read first', async () => {
  await connected(await unipile.link(await ask('linkedin')));
  const target = { accountId: 'me', profileUrl: 'https://www.linkedin.com/in/ada' };
  const viewed = await perform('linkedin view_profile', target);
  expect(viewed.body.data).toMatchObject({ providerId: 'ACoAAada', name: 'Ada Lovelace' });
  const other = await perform('linkedin view_profile', { ...target, accountId: 'acc_other' });
  expect([other.status, other.body.error.code]).toEqual([400, 'invalid_payload']);
  const invite = () => perform('linkedin send_connection', { ...target, note: 'We met.' });
  expect((await invite()).body.data).toEqual({ status: 'sent', invitationId: 'invitation-1' });
  const again = await invite();
  expect([again.status, again.body.error.details]).toMatchObject([
    502,
    { providerCode: 'provider.conflict', outcome: 'failed' },
  ]);
  expect(unipile.invitations).toMatchObject([{ userId: 'ACoAAada', message: 'We met.' }]);
});

test('Slack: an action says that its process cannot decrypt the access, and sends no request', async () => {
  const [process] = product.processes;
  await process!.stop();
  const SEALING_KEYS = `other:${Buffer.alloc(32, 9).toString('base64')}`;
  const { api: of, log } = await product.start(['api', 'integrations'], { SEALING_KEYS });
  const posted = slack.posted.length;
  const client = apiClient(of, liveKey);
  const { status, body } = await client.post(`${base}/slack/actions/send_message`, { channel: 'C1', text: 'x' });
  expect([status, body.error]).toMatchObject([
    502,
    {
      code: 'action_failed',
      message: expect.stringMatching(/^The stored secrets cannot be decrypted\./),
      details: { providerCode: 'secrets_unreadable', outcome: 'failed' },
    },
  ]);
  expect(slack.posted).toHaveLength(posted);
  const line = await until('it is logged', async () =>
    log.find(({ msg }) => msg === 'tokens of a connection cannot be decrypted'),
  );
  expect(JSON.stringify(line)).toContain('SEALING_KEYS does not contain the key');
});
