import { expect } from '@jest/globals';
import { linkedin } from '../../../src/integrations/catalog/linkedin.ts';
import { type FakeUnipile, startFakeUnipile, unipileError, unipileRateLimit } from '../unipile.ts';
import { live } from './entry.ts';

const ada = 'https://www.linkedin.com/in/ada-lovelace';
let people = 0;

const profileUrls = [
  'http://www.linkedin.com/in/ada',
  'https://www.linkedin.com.evil.example/in/ada',
  'https://evil.example/in/ada',
  'https://ada@www.linkedin.com/in/ada',
  'https://www.linkedin.com:8443/in/ada',
  'https://www.linkedin.com/company/ada',
  'https://www.linkedin.com/in/',
  'https://www.linkedin.com/in/a/b',
  'https://www.linkedin.com/in/..%2F..%2Faccounts',
  'https://www.linkedin.com/in/%2e%2e',
  'https://www.linkedin.com/in/%E0%A4%A',
  `https://www.linkedin.com/in/${'a'.repeat(201)}`,
  'ada',
];
const invalidTargets = profileUrls.map((profileUrl): [unknown, string] => [
  { accountId: 'me', profileUrl },
  'profileUrl',
]);

export const liveLinkedin = live<FakeUnipile>({
  integration: linkedin,
  start: startFakeUnipile,
  variables: ({ origin, apiKey, webhookSecret }) => ({
    UNIPILE_API_KEY: apiKey,
    UNIPILE_BASE_URL: origin,
    UNIPILE_WEBHOOK_SECRET: webhookSecret,
  }),
  account({ accounts }) {
    accounts.set('acc_ada', { state: 'used', provider: 'linkedin' });
    return { id: 'acc_ada', name: 'Grace Hopper', details: {} };
  },
  token: ({ apiKey }) => apiKey,
  identity: { workspace: 'LinkedIn', user: 'Grace Hopper' },
  rateLimited: unipileRateLimit,
  expired: [unipileError(401, 'provider/invalid_authorization'), unipileError(401, 'api/expired_authorization')],
  meanings: [
    [unipileError(401, 'api/missing_authorization'), 'action_failed', 'api.missing_authorization'],
    [unipileError(400, 'provider/invalid_parameters'), 'invalid_payload', 'provider.invalid_parameters'],
    [unipileError(422, 'provider/unprocessable_entity'), 'invalid_payload', 'provider.unprocessable_entity'],
    [unipileError(403, 'provider/insufficient_permissions'), 'action_failed', 'provider.insufficient_permissions'],
    [unipileError(404, 'provider/resource_not_found'), 'action_failed', 'provider.resource_not_found'],
    [unipileError(409, 'provider/conflict'), 'action_failed', 'provider.conflict'],
    [unipileError(500, 'api/internal_error'), 'lost', 'api.internal_error'],
  ],
  actions: {
    view_profile: {
      payload: () => ({ accountId: 'me', profileUrl: ada, priority: 'high' }),
      answer: { providerId: 'ACoAAada-lovelace', name: 'Ada Lovelace', headline: 'Mathematician', profileUrl: ada },
      invalid: [
        ...invalidTargets,
        [{ profileUrl: ada }, 'accountId'],
        [{ accountId: 'me', profileUrl: ada, priority: 'urgent' }, 'priority'],
      ],
      refused: [
        [{ accountId: 'acc_other', profileUrl: ada }, 'invalid_payload', 'accountId'],
        [{ accountId: 'me', profileUrl: 'https://www.linkedin.com/in/nobody' }, 'action_failed'],
      ],
    },
    send_connection: {
      payload: () => ({ accountId: 'acc_ada', profileUrl: `${ada}-${++people}`, note: 'x'.repeat(300), delay: 0 }),
      answer: { status: 'sent', invitationId: expect.stringMatching(/^invitation-\d+$/) },
      before: 1,
      invalid: [
        [{ accountId: 'me' }, 'profileUrl'],
        [{ accountId: 'me', profileUrl: ada, note: 'x'.repeat(301) }, 'note'],
        [{ accountId: 'me', profileUrl: ada, delay: 86_401 }, 'delay'],
        [{ accountId: 'me', profileUrl: ada, delay: -1 }, 'delay'],
        [{ accountId: 'me', profileUrl: ada, delay: 1.5 }, 'delay'],
      ],
      refused: [[{ accountId: 'me', profileUrl: 'https://www.linkedin.com/in/nobody' }, 'action_failed']],
    },
  },
});
