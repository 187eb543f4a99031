import { expect } from '@jest/globals';
import { hubspot } from '../../../src/integrations/catalog/hubspot.ts';
import { type FakeHubSpot, hubspotError, hubspotRateLimit, startFakeHubSpot } from '../hubspot.ts';
import { live } from './entry.ts';

const contact = {
  ...{ id: '1', properties: { email: 'ada@example.com' } },
  ...{ createdAt: '2026-11-20T09:30:00.000Z', updatedAt: '2026-11-20T09:30:00.000Z' },
};

export const liveHubspot = live<FakeHubSpot>({
  integration: hubspot,
  start: startFakeHubSpot,
  variables: ({ origin, clientId, clientSecret }) => ({
    ...{ HUBSPOT_CLIENT_ID: clientId, HUBSPOT_CLIENT_SECRET: clientSecret },
    ...{ HUBSPOT_LOGIN_BASE_URL: origin, HUBSPOT_BASE_URL: origin },
  }),
  account({ portalId, contacts }) {
    contacts.set(contact.id, structuredClone(contact));
    return { id: String(portalId), name: `HubSpot ${portalId}`, details: {} };
  },
  token: (fake) => fake.accessToken(),
  identity: { workspace: expect.any(String), user: expect.any(String) },
  rateLimited: (seconds) => ({
    ...hubspotRateLimit('TEN_SECONDLY_ROLLING'),
    headers: { 'retry-after': String(seconds) },
  }),
  expired: [hubspotError(401, 'EXPIRED_AUTHENTICATION')],
  meanings: [
    [hubspotError(400, 'VALIDATION_ERROR'), 'invalid_payload', 'VALIDATION_ERROR'],
    [hubspotError(403, 'MISSING_SCOPES'), 'action_failed', 'MISSING_SCOPES'],
    [hubspotError(404, 'OBJECT_NOT_FOUND'), 'action_failed', 'OBJECT_NOT_FOUND'],
    [hubspotError(409, 'CONFLICT'), 'action_failed', 'CONFLICT'],
    [hubspotRateLimit('DAILY'), 'rate_limited', 'DAILY'],
    [{ status: 423, body: {} }, 'not_done'],
    [hubspotError(502, 'INTERNAL'), 'lost', 'INTERNAL'],
  ],
  actions: {
    create_contact: {
      payload: () => ({ properties: { firstname: 'Ada', age: 36, vip: true } }),
      answer: { id: expect.any(String), properties: expect.objectContaining({ firstname: 'Ada' }) },
      invalid: [
        [{ properties: {} }, 'properties'],
        [{ properties: { email: { a: 1 } } }, 'properties.email'],
        [{ properties: 'x' }, 'properties'],
      ],
      refused: [
        [{ properties: { email: 'ada' } }, 'invalid_payload', 'properties.email'],
        [{ properties: { email: 'ada@example.com' } }, 'action_failed'],
      ],
    },
    update_contact: {
      payload: () => ({ contactId: '1', properties: { company: 'Analytical Engines' } }),
      answer: { id: '1', properties: expect.objectContaining({ company: 'Analytical Engines' }) },
      invalid: [
        [{ properties: { a: 'b' } }, 'contactId'],
        [{ contactId: '1', properties: {} }, 'properties'],
      ],
      refused: [
        [{ contactId: '9', properties: { company: 'x' } }, 'action_failed'],
        [{ contactId: '1', properties: { nope: 'x' } }, 'invalid_payload', 'properties.nope'],
      ],
    },
  },
});
