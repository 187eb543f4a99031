import { describe, expect, test } from '@jest/globals';
import { ClientStates } from '../../src/integrations/inbound/client-states.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type Answer, apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { inboundSecrets } from '../shared-products.ts';
import { eventsScene, eventsUrl, from, newAccount, readPayload } from './events-scene.ts';
import { providerEvents, type SignedEvents } from './provider-events.ts';

const { slack, hubspot, teams, unipile } = providerEvents;
const {
  SLACK_SIGNING_SECRET: slackSecret,
  HUBSPOT_CLIENT_SECRET: hubspotSecret,
  UNIPILE_WEBHOOK_SECRET: unipileSecret,
} = inboundSecrets;

const scene = eventsScene();

describe('a forgery', () => {
  const hour = 3_600_000;
  const refused = { status: 401, body: { success: false, error: { code: 'unauthorized' } } };

  test('of Slack is refused', async () => {
    const content = slack.message(newAccount(), 'Ev1');
    const good = slack.sign(slackSecret, content);
    const { 'x-slack-signature': signature, 'x-slack-request-timestamp': time } = good.headers;
    const without = (name: string) => Object.fromEntries(Object.entries(good.headers).filter(([key]) => key !== name));
    const forgeries: SignedEvents[] = [
      slack.sign('another secret', content),
      slack.sign(slackSecret, content, Date.now() - hour),
      slack.sign(slackSecret, content, Date.now() + hour),
      { ...good, body: good.body.replace('hello', 'hullo') },
      { ...good, body: `${good.body} ` },
      { ...good, headers: without('x-slack-signature') },
      { ...good, headers: without('x-slack-request-timestamp') },
      ...[
        '',
        'v0=',
        `v1=${signature!.slice(3)}`,
        signature!.toUpperCase(),
        `${signature}, ${signature}`,
        `${signature}0`,
      ].map((text) => ({ ...good, headers: { ...good.headers, 'x-slack-signature': text } })),
      ...[`${time}.0`, `+${time}`, `${time} `.repeat(2), '0x1', 'NaN', '9'.repeat(400)].map((text) => ({
        ...good,
        headers: { ...good.headers, 'x-slack-request-timestamp': text },
      })),
    ];
    for (const forgery of forgeries) expect(await scene.send('slack', forgery)).toMatchObject(refused);
    const twice = await fetch(`${scene.process.api}/api/v1/integrations/slack/events`, {
      method: 'POST',
      body: good.body,
      headers: [...Object.entries(good.headers), ['x-slack-signature', signature!]],
    });
    expect(twice.status).toBe(401);
    expect(await scene.send('slack', good)).toMatchObject({ status: 200 });
  });

  test('of HubSpot is refused', async () => {
    const content = [hubspot.contact(Number(newAccount()), 1)];
    const url = eventsUrl('hubspot');
    const good = hubspot.sign(hubspotSecret, content, url);
    const signature = good.headers['x-hubspot-signature-v3']!;
    const withHeaders = (more: Record<string, string>) => ({ ...good, headers: { ...good.headers, ...more } });
    const forgeries: SignedEvents[] = [
      hubspot.sign('another secret', content, url),
      hubspot.sign(hubspotSecret, content, url, Date.now() - hour),
      hubspot.sign(hubspotSecret, content, url, Date.now() + hour),
      hubspot.sign(hubspotSecret, content, `${eventsUrl('hubspot').replace('/api', '')}`),
      hubspot.sign(hubspotSecret, content, url.replace('hubspot', 'slack')),
      { ...good, body: good.body.replace('"appId":7', '"appId":8') },
      withHeaders({ 'x-hubspot-signature-v3': '' }),
      withHeaders({ 'x-hubspot-signature-v3': `${signature}, ${signature}` }),
      withHeaders({ 'x-hubspot-request-timestamp': '' }),
      withHeaders({ 'x-hubspot-request-timestamp': String(Date.now() + 1) }),
    ];
    for (const forgery of forgeries) expect(await scene.send('hubspot', forgery)).toMatchObject(refused);
    expect(await scene.send('hubspot', good)).toMatchObject({ status: 200 });
  });

  test('of Microsoft Graph is refused', async () => {
    const tenantId = '84bd8158-6d4d-4958-8b9f-9d6445542f95';
    const [mine, other] = [await scene.connect('microsoft-teams', tenantId), '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000'];
    const states = new ClientStates(secrets.URL_SIGNING_KEY);
    const [state, another] = [states.of(mine)!, states.of(other)!];
    const text = (clientState: string) => teams.message(tenantId, clientState, '1616963377068');
    const forgeries = [
      teams.notify(text('')),
      teams.notify(text('secret')),
      teams.notify(text(new ClientStates('another key').of(mine)!)),
      teams.notify(text(`${mine}.${another.split('.')[1]}`)),
      teams.notify(text(`${state} `)),
      teams.notify(text(state), text('secret')),
      teams.notify({ ...text(state), clientState: undefined }),
      teams.notify({ ...text(state), clientState: [state] }),
    ];
    for (const forgery of forgeries) expect(await scene.send('microsoft-teams', forgery)).toMatchObject(refused);
    // One of a connection that is gone is acknowledged, so that it is not sent for hours.
    expect(await scene.send('microsoft-teams', teams.notify(text(state), text(another)))).toMatchObject({
      status: 202,
    });
  });

  test('of Unipile is refused', async () => {
    const account = newAccount();
    await scene.connect('linkedin', account);
    const hook = await scene.listen('linkedin', 'message_received');
    const content = unipile.message(account, 'm1');
    const good = unipile.send(unipileSecret, content);
    const signed = unipile.sign(unipileSecret, content);
    const forgeries: SignedEvents[] = [
      unipile.send('another secret', content),
      unipile.send(`${unipileSecret}, ${unipileSecret}`, content),
      unipile.send(unipileSecret.slice(0, -1), content),
      { ...good, headers: {} },
      unipile.sign('another secret', content),
      unipile.sign(unipileSecret, content, Date.now() - hour),
      unipile.sign(unipileSecret, content, Date.now() + hour),
      { ...signed, body: signed.body.replace('hello', 'hullo') },
      { ...good, headers: { ...good.headers, 'unipile-signature': 'none' } },
    ];
    for (const forgery of forgeries) expect(await scene.send('linkedin', forgery)).toMatchObject(refused);
    expect(scene.receiver.to(hook.path)).toEqual([]);
    // Messages of the account itself are not published.
    const own = unipile.message(account, 'm0', { sender: { attendee_provider_id: 'me' } });
    for (const events of [unipile.send(unipileSecret, own), good, signed, good]) {
      expect(await scene.send('linkedin', events)).toMatchObject({ status: 200 });
    }
    const [delivered] = await scene.receiver.has(hook.path, 1);
    expect(readPayload(delivered!, hook.secret).data).toMatchObject({
      channel: 'chat1',
      user: 'ACoAAA',
      text: 'hello',
    });
    const { rows } = await scene.product.database.pool.query(
      "select 1 from event where organization_id = $1 and type = 'linkedin.message_received'",
      [organizationIds.parse(scene.tenant.organizationId)],
    );
    expect(rows).toHaveLength(1);
  });

  test('costs the same whatever it names', async () => {
    const lifecycle = { subscriptionId: 's1', lifecycleEvent: 'missed', tenantId: newAccount() };
    const withDepth = (depth: number) =>
      JSON.stringify({ value: [lifecycle] }).replace('}]', `,"x":${'['.repeat(depth)}${']'.repeat(depth)}}]`);
    const json = { 'content-type': 'application/json' };
    expect(await scene.send('microsoft-teams', { body: withDepth(3e4), headers: json })).toMatchObject(refused);
    // What is read before its proof has at most 64 KiB.
    expect(await scene.send('microsoft-teams', { body: withDepth(4e5), headers: json })).toMatchObject({ status: 413 });
    expect(await scene.send('slack', slack.sign('another', slack.message('T\0', 'Ev1')))).toMatchObject(refused);
    expect(await scene.send('linkedin', unipile.send('another', unipile.message('\0', 'm1')))).toMatchObject(refused);
    // The provider may say what it likes, and is not asked to repeat it.
    expect(await scene.send('slack', slack.sign(slackSecret, slack.message('T\0', 'Ev1')))).toMatchObject({
      status: 200,
    });
  });

  test('learns nothing about accounts and secrets', async () => {
    const known = newAccount();
    await scene.connect('slack', known, await scene.product.createTenant());
    const forged = [known, 'T0UNKNOWN'].map((team) => slack.sign('another secret', slack.message(team, 'Ev1')));
    const [one, two] = await Promise.all(forged.map((events) => scene.send('slack', events)));
    const errorOf = ({ body: { error } }: Answer) => ({ ...error, requestId: undefined });
    expect(errorOf(one!)).toEqual(errorOf(two!));
  });
});

describe('a handshake', () => {
  test('of Slack answers the challenge of a signed request alone', async () => {
    const content = {
      token: 'x',
      challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P',
      type: 'url_verification',
    };
    expect(await scene.send('slack', slack.sign(slackSecret, content))).toMatchObject({
      status: 200,
      body: { challenge: content.challenge },
    });
    expect(await scene.send('slack', slack.sign('another secret', content))).toMatchObject({ status: 401 });
  });

  test('of Microsoft Graph answers the token as text', async () => {
    const client = apiClient(scene.process.api);
    const ask = (token: string) =>
      client.post(`/api/v1/integrations/microsoft-teams/events?validationToken=${token}`, '', from());
    const answer = await ask('Validation%3A+Testing+client+application+reachability%3Cb%3E');
    expect(answer).toMatchObject({ status: 200, body: 'Validation: Testing client application reachability<b>' });
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    for (const token of ['', 'a'.repeat(4_097), 'a%00b', '%0d%0aSet-Cookie:x']) {
      expect([400, 401]).toContain((await ask(token)).status);
    }
  });
});
