import { expect } from '@jest/globals';
import { salesforce } from '../../../src/integrations/catalog/salesforce.ts';
import { type FakeSalesforce, salesforceError, startFakeSalesforce } from '../salesforce.ts';
import { live } from './entry.ts';

const lead = { FirstName: 'Augusta', LastName: 'King', Company: 'Analytical Engines' };

export const liveSalesforce = live<FakeSalesforce>({
  integration: salesforce,
  start: startFakeSalesforce,
  variables: ({ origin, clientId, clientSecret }) => ({
    SALESFORCE_CLIENT_ID: clientId,
    SALESFORCE_CLIENT_SECRET: clientSecret,
    SALESFORCE_LOGIN_BASE_URL: `${origin}/`,
  }),
  account({ organizationId, userId, origin, records }) {
    records.set('Account', [{ Id: '001D000000IRFmaIAH', Name: 'Analytical Engines' }]);
    return { id: organizationId, name: '127.0.0.1', details: { instanceUrl: origin, user: userId } };
  },
  token: (fake) => fake.accessToken(),
  identity: { workspace: '127.0.0.1', user: 'Ada Lovelace' },
  rateLimited: (seconds) => ({
    ...salesforceError(403, 'REQUEST_LIMIT_EXCEEDED'),
    headers: { 'retry-after': String(seconds) },
  }),
  expired: [
    salesforceError(401, 'INVALID_SESSION_ID'),
    salesforceError(403, 'INVALID_SESSION_ID'),
    { status: 403, headers: { 'content-type': 'text/plain' }, body: undefined },
  ],
  meanings: [
    [salesforceError(400, 'REQUIRED_FIELD_MISSING', ['Company']), 'invalid_payload', 'REQUIRED_FIELD_MISSING'],
    [salesforceError(400, 'MALFORMED_QUERY'), 'invalid_payload', 'MALFORMED_QUERY'],
    [salesforceError(400, 'DUPLICATES_DETECTED'), 'action_failed', 'DUPLICATES_DETECTED'],
    [salesforceError(403, 'INSUFFICIENT_ACCESS'), 'action_failed', 'INSUFFICIENT_ACCESS'],
    [salesforceError(404, 'NOT_FOUND'), 'action_failed', 'NOT_FOUND'],
    [salesforceError(400, 'UNABLE_TO_LOCK_ROW'), 'not_done', 'UNABLE_TO_LOCK_ROW'],
    [salesforceError(503, 'SERVER_UNAVAILABLE'), 'not_done', 'SERVER_UNAVAILABLE'],
    [salesforceError(500, 'UNKNOWN_EXCEPTION'), 'lost', 'UNKNOWN_EXCEPTION'],
    [salesforceError(403, '<script>'), 'action_failed'],
    [{ status: 200, body: { id: 7 } }, 'lost'],
    [{ status: 400, body: [] }, 'invalid_payload'],
  ],
  actions: {
    create_lead: {
      payload: () => ({ ...lead, Region__c: 'North' }),
      answer: { id: expect.stringMatching(/^00Q\w{15}$/) },
      invalid: [
        [{ Company: 'x' }, 'LastName'],
        [{ LastName: 'x' }, 'Company'],
        [{ ...lead, LastName: ' ' }, 'LastName'],
        [{ ...lead, Company: 'x'.repeat(256) }, 'Company'],
        [{ ...lead, attributes: { type: 'Account' } }, 'attributes'],
        [{ ...lead, 'a b': 'x' }, 'a b'],
      ],
      refused: [[{ ...lead, Email: 'nobody' }, 'invalid_payload', 'Email']],
    },
    query: {
      payload: () => ({ soql: "SELECT Id, Name FROM Account WHERE Name != 'ü&?#/..'" }),
      answer: { totalSize: 1, done: true, records: [expect.objectContaining({ Name: 'Analytical Engines' })] },
      invalid: [
        [{}, 'soql'],
        [{ soql: 'DELETE FROM Account' }, 'soql'],
        [{ soql: `SELECT ${'x'.repeat(20_000)}` }, 'soql'],
        [{ nextRecordsUrl: '/services/data/v66.0/query/../sobjects/Lead' }, 'nextRecordsUrl'],
        [{ nextRecordsUrl: 'https://a.example/services/data/v66.0/query/01g-2000' }, 'nextRecordsUrl'],
      ],
      refused: [
        [{ soql: 'SELECT FROM' }, 'invalid_payload', 'soql'],
        [{ soql: 'SELECT Id FROM Unknown' }, 'invalid_payload', 'soql'],
        [{ soql: `SELECT Id FROM Account WHERE Name = '${'ü'.repeat(3_000)}'` }, 'invalid_payload', 'soql'],
        [{ nextRecordsUrl: '/services/data/v66.0/query/01gunknown-2000' }, 'action_failed'],
      ],
    },
  },
});
