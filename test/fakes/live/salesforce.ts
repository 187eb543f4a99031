import { expect } from '@jest/globals';
import { salesforce } from '../../../src/integrations/catalog/salesforce.ts';
import { type FakeSalesforce, salesforceError, startFakeSalesforce } from '../salesforce.ts';
import { live } from './entry.ts';

export const liveSalesforce = live<FakeSalesforce>({
  integration: salesforce,
  start: startFakeSalesforce,
  variables: ({ origin, clientId, clientSecret }) => ({
    ...{ SALESFORCE_CLIENT_ID: clientId, SALESFORCE_CLIENT_SECRET: clientSecret, SALESFORCE_LOGIN_BASE_URL: origin },
  }),
  account: ({ organizationId, userId, origin }) => ({
    ...{ id: organizationId, name: '127.0.0.1', details: { instanceUrl: origin, user: userId } },
  }),
  token: (fake) => fake.accessToken(),
  identity: { workspace: '127.0.0.1', user: 'Ada Lovelace' },
  rateLimited: (seconds) => ({
    ...salesforceError(403, 'REQUEST_LIMIT_EXCEEDED'),
    headers: { 'retry-after': String(seconds) },
  }),
  expired: [salesforceError(401, 'INVALID_SESSION_ID'), salesforceError(403, 'INVALID_SESSION_ID')],
  meanings: [
    [salesforceError(400, 'REQUIRED_FIELD_MISSING', ['Company']), 'invalid_payload', 'REQUIRED_FIELD_MISSING'],
    [salesforceError(400, 'MALFORMED_QUERY'), 'invalid_payload', 'MALFORMED_QUERY'],
    [salesforceError(400, 'DUPLICATES_DETECTED'), 'action_failed', 'DUPLICATES_DETECTED'],
    [salesforceError(403, 'INSUFFICIENT_ACCESS'), 'action_failed', 'INSUFFICIENT_ACCESS'],
    [salesforceError(404, 'NOT_FOUND'), 'action_failed', 'NOT_FOUND'],
    [salesforceError(403, 'REQUEST_LIMIT_EXCEEDED'), 'rate_limited', 'REQUEST_LIMIT_EXCEEDED'],
    [salesforceError(500, 'UNKNOWN_EXCEPTION'), 'lost', 'UNKNOWN_EXCEPTION'],
  ],
  actions: {
    create_lead: {
      payload: () => ({ FirstName: 'Ada', LastName: 'Lovelace', Company: 'Analytical Engines', Rating: 'Hot' }),
      answer: { id: expect.stringMatching(/^00Q/) },
      invalid: [
        [{ LastName: 'Lovelace' }, 'Company'],
        [{ Company: 'Analytical Engines' }, 'LastName'],
        [{ LastName: ' ', Company: 'x' }, 'LastName'],
        [{ LastName: 'x', Company: 'x', 'a b': 1 }, 'a b'],
        [{ LastName: 'x', Company: 'x', Owner: { a: 1 } }, 'Owner'],
      ],
      refused: [[{ LastName: 'x', Company: 'x', Email: 'ada' }, 'invalid_payload', 'Email']],
    },
    query: {
      payload: () => ({ soql: 'SELECT Id FROM Lead' }),
      answer: { totalSize: expect.any(Number), done: true, records: expect.any(Array) },
      invalid: [
        [{}, 'soql'],
        [{ soql: 'DELETE FROM Lead' }, 'soql'],
        [{ soql: `SELECT ${'x'.repeat(20_000)}` }, 'soql'],
        [{ nextRecordsUrl: 'https://evil.example/' }, 'nextRecordsUrl'],
      ],
      refused: [[{ soql: 'SELECT from where' }, 'invalid_payload', 'soql']],
    },
  },
});
