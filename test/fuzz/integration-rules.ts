import fc from 'fast-check';
import { documentedActions } from '../../api/schemas/integrations/action.ts';
import { oneOf, type WordedRule } from './schema-arbitrary.ts';

const urls = fc.nat().map((nat) => `https://hooks-${nat}.example.com/integrations?of=${nat}`);

/** What the providers of other integrations take, which no schema says whole. */
const ofOtherActions: WordedRule[] = documentedActions
  .filter(({ operationId }) => operationId !== 'slackSendMessage')
  .map(({ operationId, payloadExample }) => ({
    at: [operationId[0]!.toUpperCase() + operationId.slice(1)],
    words: /The payload of/,
    follow: () => oneOf(payloadExample),
  }));

/** Rules of integrations: of Slack, which stands for all of them. */
export const integrationRules: WordedRule[] = [
  ...ofOtherActions,
  {
    at: ['NewIntegrationConsent'],
    words: /one of the organization's allowed addresses/,
    follow: () => oneOf({}, { scopes: ['chat:write', 'channels:read'] }),
  },
  {
    at: ['NewIntegrationWebhook.event'],
    words: /An event of the integration/,
    follow: () => oneOf('mention', 'slack.message_received'),
  },
  { at: ['NewIntegrationWebhook.url'], words: /a public address and without a user name/, follow: () => urls },
  {
    at: ['SlackSendMessage'],
    words: /The payload of `slack` `send_message`/,
    follow: () => oneOf({ channel: 'C1', text: 'Hello' }, { channel: '#ops', blocks: [{ type: 'divider' }] }),
  },
  {
    at: ['SandboxTrigger'],
    words: /The `data` of the event/,
    follow: () => oneOf({ channel: 'C1', user: 'U1', text: 'Hello', ts: '1503435956.000247' }),
  },
];
