import { createHmac } from 'node:crypto';

/** A request as its provider would send it. */
export interface SignedEvents {
  headers: Record<string, string>;
  body: string;
}

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text);
const json = { 'content-type': 'application/json' };

/** What each provider sends, written after its documentation and without code of the product. */
export const providerEvents = {
  slack: {
    message: (team: string, id: string, text = 'hello', more: object = {}) => ({
      token: 'deprecated',
      team_id: team,
      api_app_id: 'A0APP',
      type: 'event_callback',
      event_id: id,
      event: {
        type: 'message',
        channel: 'C1',
        user: 'U1',
        text,
        ts: '1503435956.000247',
        channel_type: 'channel',
        ...more,
      },
      event_time: 1_503_435_956,
    }),
    sign(secret: string, content: unknown, at = Date.now()): SignedEvents {
      const [body, seconds] = [JSON.stringify(content), String(Math.floor(at / 1_000))];
      const signature = `v0=${hmac(secret, `v0:${seconds}:${body}`).digest('hex')}`;
      return { body, headers: { ...json, 'x-slack-request-timestamp': seconds, 'x-slack-signature': signature } };
    },
  },
  hubspot: {
    contact: (portal: number, id: number, more: object = {}) => ({
      eventId: id,
      subscriptionId: 12,
      portalId: portal,
      appId: 7,
      occurredAt: 1_795_262_400_000,
      attemptNumber: 0,
      subscriptionType: 'contact.creation',
      objectId: 1_000 + id,
      changeFlag: 'NEW',
      changeSource: 'CRM',
      ...more,
    }),
    sign(secret: string, content: unknown, url: string, at = Date.now()): SignedEvents {
      const body = JSON.stringify(content);
      const signature = hmac(secret, `POST${url}${body}${at}`).digest('base64');
      const headers = { 'x-hubspot-signature-v3': signature, 'x-hubspot-request-timestamp': String(at) };
      return { body, headers: { ...json, ...headers } };
    },
  },
  unipile: {
    /** An event of version 1, whose only proof is a header that the webhook was created with. */
    message: (account: string, id: string, more: object = {}) => ({
      event: 'message_received',
      account_id: account,
      account_type: 'LINKEDIN',
      message_id: id,
      chat_id: 'chat1',
      message: 'hello',
      timestamp: '2026-11-20T09:30:00.000Z',
      account_info: { user_id: 'me' },
      sender: { attendee_provider_id: 'ACoAAA', attendee_name: 'Ada' },
      ...more,
    }),
    send: (secret: string, content: unknown): SignedEvents => ({
      body: JSON.stringify(content),
      headers: { ...json, 'unipile-auth': secret },
    }),
    /** Version 2 signs. */
    sign(secret: string, content: unknown, at = Date.now()): SignedEvents {
      const [body, seconds] = [JSON.stringify(content), Math.floor(at / 1_000)];
      const signature = `t=${seconds},v0=${hmac(secret, `${seconds}.${body}`).digest('hex')}`;
      return { body, headers: { ...json, 'unipile-signature': signature } };
    },
  },
  teams: {
    message(tenantId: string, clientState: string, id: string, more: object = {}) {
      const [team, channel] = ['02bd9fd6-8f93-4758-87c3-1fb73740a315', '19:c1@thread.tacv2'];
      const resource = `teams('${team}')/channels('${channel}')/messages('${id}')`;
      return {
        subscriptionId: 'a5cfd1b5-2ad9-4d7f-8ef9-d1a1f4bd01ef',
        clientState,
        tenantId,
        changeType: 'created',
        resource,
        resourceData: { '@odata.type': '#Microsoft.Graph.chatMessage', id, ...more },
      };
    },
    notify: (...value: object[]): SignedEvents => ({ body: JSON.stringify({ value }), headers: json }),
  },
};
