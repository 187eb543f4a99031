import { askThrice, type Caller } from './caller.ts';

const hook = { event: 'message_received', url: 'https://hooks.example.com/slack' };

/** Webhooks of integrations, and events of the sandbox. */
async function recordEvents(caller: Caller, connect: () => Promise<unknown>): Promise<void> {
  const { ask } = caller;
  const webhooks = '/integrations/{integrationId}/webhooks';
  const [create, remove] = [`POST ${webhooks}`, `DELETE ${webhooks}/{webhookId}`];
  const ids = { integrationId: 'slack' };
  const other = { ...hook, event: 'slack.mention' };
  const created = await askThrice(caller, { endpoint: create, ids, body: hook }, other);
  const wrong = { event: 'contact_created', url: 'ftp://x', secret: 'short' };
  await ask({ endpoint: create, what: 'with many things wrong', ids, body: wrong });
  await ask({
    endpoint: create,
    what: 'for an event of another integration',
    ids,
    body: { ...hook, event: 'deal_updated' },
  });
  await ask({ endpoint: `GET ${webhooks}`, ids });
  const webhook = { webhookId: created.body.data.id };
  await ask({ endpoint: remove, what: 'of another integration', ids: { ...webhook, integrationId: 'hubspot' } });
  await ask({ endpoint: remove, ids: { ...webhook, ...ids } });
  const trigger = 'POST /integrations/{integrationId}/triggers/{event}';
  const event = { ...ids, event: 'mention' };
  const body = { channel: 'C1', user: 'U1', text: 'Hello', ts: '1503435956.000247' };
  await ask({ endpoint: trigger, what: 'not connected', ids: event, body });
  await connect();
  await ask({ endpoint: trigger, what: 'with too little', ids: event, body: { channel: 5 } });
  await ask({ endpoint: trigger, what: 'that nobody knows', ids: { ...ids, event: 'nothing' }, body });
  await askThrice(caller, { endpoint: trigger, ids: event, body }, { ...body, text: 'Goodbye' });
}

const act = 'POST /integrations/{integrationId}/actions/{actionId}';
const say = { integrationId: 'slack', actionId: 'send_message' };
const message = { channel: 'C0123456789', text: 'Hello' };

async function recordRefusedActions({ ask }: Caller): Promise<void> {
  await ask({ endpoint: act, what: 'not connected', ids: say, body: message });
  await ask({ endpoint: act, what: 'of nothing', ids: { ...say, integrationId: 'nothing' }, body: message });
  await ask({ endpoint: act, what: 'that nobody knows', ids: { ...say, actionId: 'nothing' }, body: message });
  await ask({ endpoint: act, what: 'with a payload that does not fit', ids: say, body: { channel: 5 } });
}

/** Records the actions of connected integrations, which are disconnected in the end. */
async function recordActions(caller: Caller): Promise<void> {
  const { ask } = caller;
  const tested = 'POST /integrations/{integrationId}/test';
  await ask({ endpoint: tested, ids: say });
  await askThrice(caller, { endpoint: act, ids: say, body: message }, { ...message, text: 'Bye' });
  for (const word of ['fail', 'rate_limited', 'auth_expired']) {
    await ask({ endpoint: act, what: `sandbox:${word}`, ids: say, body: { ...message, text: `sandbox:${word}` } });
  }
  await ask({ endpoint: tested, what: 'whose access ended', ids: say });
  await ask({ endpoint: 'DELETE /integrations/{integrationId}/connection', ids: say });
}

/** Records a delayed action, which is cancelled. */
async function recordDelayedActions({ ask }: Caller): Promise<void> {
  const ids = { integrationId: 'linkedin', actionId: 'send_connection' };
  const body = { accountId: 'me', profileUrl: 'https://www.linkedin.com/in/ada-lovelace', delay: 86_400 };
  const { actionRunId } = (await ask({ endpoint: act, what: 'that is delayed', ids, body })).body.data;
  const [get, cancel] = ['GET /integrations/actions/{actionRunId}', 'POST /integrations/actions/{actionRunId}/cancel'];
  await ask({ endpoint: get, ids: { actionRunId } });
  for (const what of ['', 'once more']) await ask({ endpoint: cancel, ...(what && { what }), ids: { actionRunId } });
  for (const endpoint of [get, cancel])
    await ask({ endpoint, what: 'of nothing', ids: { actionRunId: 'act_nothing' } });
}

/** Connecting integrations in the sandbox. */
export async function recordIntegrations(
  caller: Caller,
  connectTo: (integrationId: string) => Promise<unknown>,
): Promise<void> {
  const { ask } = caller;
  const [connect, remove] = [
    'POST /integrations/{integrationId}/connect',
    'DELETE /integrations/{integrationId}/connection',
  ];
  const tested = 'POST /integrations/{integrationId}/test';
  await ask({ endpoint: 'GET /integrations' });
  const ids = { integrationId: 'slack' };
  const unknown = { integrationId: 'nothing' };
  await ask({ endpoint: connect, what: 'with wrong scopes', ids, body: { scopes: ['chat:write', 'nothing'] } });
  await ask({ endpoint: connect, what: 'to an unknown address', ids, body: { redirectUrl: 'https://evil.example/' } });
  await ask({ endpoint: connect, what: 'with many things wrong', ids, body: { redirectUrl: 5, scopes: [] } });
  await ask({ endpoint: connect, ids });
  for (const endpoint of [connect, tested, remove]) await ask({ endpoint, what: 'of nothing', ids: unknown });
  for (const endpoint of [tested, remove]) await ask({ endpoint, what: 'not connected', ids });
  await recordRefusedActions(caller);
  await recordEvents(caller, () => connectTo('slack'));
  await recordActions(caller);
  await connectTo('linkedin');
  await recordDelayedActions(caller);
  await ask({ endpoint: remove, what: 'once more', ids: { integrationId: 'linkedin' } });
}
