import fc from 'fast-check';
import { oneOf, type WordedRule } from './schema-arbitrary.ts';

const urls = fc.nat().map((nat) => `https://hooks-${nat}.example.com/integrations?of=${nat}`);

/** Rules of integrations: of Slack, which stands for all of them. */
export const integrationRules: WordedRule[] = [
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
    at: ['ActionPayload'],
    words: /Which of these it is, the path says/,
    follow: () => oneOf({ channel: 'C1', text: 'Hello' }, { channel: '#ops', blocks: [{ type: 'divider' }] }),
  },
  {
    at: ['SimulatedEvent'],
    words: /The `data` of the event/,
    follow: () => oneOf({ channel: 'C1', user: 'U1', text: 'Hello', ts: '1503435956.000247' }),
  },
];
