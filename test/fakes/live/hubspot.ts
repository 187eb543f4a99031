import { expect } from '@jest/globals';
import { hubspot } from '../../../src/integrations/catalog/hubspot.ts';
import { type FakeHubSpot, hubspotError, hubspotRateLimit, startFakeHubSpot } from '../hubspot.ts';
import { live } from './entry.ts';

const at = '2026-11-20T09:30:00.000Z';
const properties = { firstname: 'Augusta', employees: 3, vip: true };
const written = { firstname: 'Augusta', employees: '3', vip: 'true' };
const answer = { id: expect.stringMatching(/^\d+$/), properties: expect.objectContaining(written) };
let people = 0;

const invalidProperties: [unknown, string][] = [
  [undefined, 'properties'],
  [{}, 'properties'],
  [[], 'properties'],
  ['email', 'properties'],
  [{ email: null }, 'properties.email'],
  [{ email: { a: 1 } }, 'properties.email'],
  [{ email: 'x'.repeat(65_537) }, 'properties.email'],
];

export const liveHubspot = live<FakeHubSpot>({
  integration: hubspot,
  start: startFakeHubSpot,
  variables: ({ origin, clientId, clientSecret }) => ({
    HUBSPOT_CLIENT_ID: clientId,
    HUBSPOT_CLIENT_SECRET: clientSecret,
    HUBSPOT_LOGIN_BASE_URL: origin,
    HUBSPOT_BASE_URL: `${origin}/`,
  }),
  account({ portalId, contacts }) {
    contacts.set('51', { id: '51', properties: { email: 'known@example.com' }, createdAt: at, updatedAt: at });
    return { id: String(portalId), name: `HubSpot ${portalId}`, details: { user: '4711' } };
  },
  token: (fake) => fake.accessToken(),
  identity: { workspace: 'HubSpot 62515', user: '4711' },
  rateLimited: (seconds) => ({
    ...hubspotRateLimit('TEN_SECONDLY_ROLLING'),
    headers: { 'retry-after': String(seconds) },
  }),
  expired: [hubspotError(401, 'EXPIRED_AUTHENTICATION'), hubspotError(401, 'INVALID_AUTHENTICATION')],
  meanings: [
    [hubspotError(400, 'VALIDATION_ERROR'), 'invalid_payload', 'VALIDATION_ERROR'],
    [hubspotError(403, 'MISSING_SCOPES'), 'action_failed', 'MISSING_SCOPES'],
    [hubspotError(404, 'OBJECT_NOT_FOUND'), 'action_failed', 'OBJECT_NOT_FOUND'],
    [hubspotError(409, 'CONFLICT'), 'action_failed', 'CONFLICT'],
    [hubspotError(423, 'LOCKED'), 'not_done', 'LOCKED'],
    [hubspotRateLimit('DAILY'), 'rate_limited', 'DAILY'],
    [hubspotError(500, 'INTERNAL'), 'lost', 'INTERNAL'],
    [hubspotError(403, '<script>'), 'action_failed'],
    [{ status: 201, body: { id: 7 } }, 'lost'],
    [{ status: 400, body: { errors: 'no' } }, 'invalid_payload'],
  ],
  actions: {
    create_contact: {
      payload: () => ({ properties: { ...properties, email: `augusta-${++people}@example.com` } }),
      answer,
      invalid: invalidProperties.map(([given, path]) => [{ properties: given }, path]),
      refused: [
        [{ properties: { email: 'nobody' } }, 'invalid_payload', 'properties.email'],
        [{ properties: { nope: 'x' } }, 'invalid_payload', 'properties.nope'],
        [{ properties: { email: 'known@example.com' } }, 'action_failed'],
      ],
    },
    update_contact: {
      payload: () => ({ contactId: '51', properties }),
      answer: { ...answer, id: '51', createdAt: at },
      invalid: [
        ...invalidProperties.map(([given, path]): [unknown, string] => [{ contactId: '51', properties: given }, path]),
        ...['', '../51', '5/1', '51?', 51, undefined].map((contactId): [unknown, string] => [
          { contactId, properties },
          'contactId',
        ]),
      ],
      refused: [
        [{ contactId: '999', properties }, 'action_failed'],
        [{ contactId: '51', properties: { email: 'nobody' } }, 'invalid_payload', 'properties.email'],
      ],
    },
  },
});
