import { createHmac, randomUUID } from 'node:crypto';
import { type AppRequest, type FakeApp, startFakeApp } from './oauth/oauth-app.ts';
import type { Json, WireAnswer } from './wire-server.ts';

/** An error as HubSpot words it. */
export const hubspotError = (status: number, category: string, more: Json = {}): WireAnswer => ({
  status,
  body: { status: 'error', message: 'Words.', correlationId: randomUUID(), category, ...more },
});

export const hubspotRateLimit = (policyName: string): WireAnswer => ({
  status: 429,
  body: {
    status: 'error',
    message: 'You have reached your limit.',
    errorType: 'RATE_LIMIT',
    correlationId: randomUUID(),
    policyName,
    groupName: 'publicapi',
  },
});

export interface HubSpotContact {
  id: string;
  properties: Record<string, string | null>;
  createdAt: string;
  updatedAt: string;
}

export interface FakeHubSpot extends FakeApp {
  portalId: number;
  contacts: Map<string, HubSpotContact>;
  /** An event of its webhooks. */
  event(of: Json): Json;
  /** The headers of a signed request. @param at in milliseconds */
  sign(url: string, body: string, options?: { secret?: string; at?: number }): Record<string, string>;
  /**
   * Sends events as its webhooks do.
   * @param eventsUrl the address that it was given
   * @param options `signedUrl`: where that is not the address that is reached
   */
  send(
    eventsUrl: string,
    events: Json[],
    options?: { secret?: string; at?: number; signedUrl?: string },
  ): Promise<Response>;
}

const contactsPath = /^\/crm\/objects\/2026-03\/contacts(?:\/([^/]+))?$/;

/** HubSpot's authorization server and API: an account with contacts. */
export async function startFakeHubSpot(): Promise<FakeHubSpot> {
  const contacts = new Map<string, HubSpotContact>();
  const portalId = 62_515;
  let lastId = 50;
  let lastEvent = 0;

  /** The values that HubSpot checks: of e-mail addresses, and that there is such a property. */
  function problemOf(properties: Json): WireAnswer | undefined {
    const wrong = Object.entries(properties).flatMap(([name, value]) => {
      const code =
        name === 'nope'
          ? 'PROPERTY_DOESNT_EXIST'
          : name === 'email' && !String(value).includes('@')
            ? 'INVALID_EMAIL'
            : undefined;
      return code ? [{ message: 'Words.', code, context: { propertyName: [name] } }] : [];
    });
    const isText = Object.values(properties).every((value) => typeof value === 'string');
    return wrong.length > 0 || !isText ? hubspotError(400, 'VALIDATION_ERROR', { errors: wrong }) : undefined;
  }

  function onContacts({ method, path, body }: AppRequest): WireAnswer {
    const [, part] = contactsPath.exec(path)!;
    const id = part && decodeURIComponent(part);
    const properties: Json | undefined = body?.properties;
    if (typeof properties !== 'object') return hubspotError(400, 'VALIDATION_ERROR');
    const problem = problemOf(properties);
    if (problem) return problem;
    const at = new Date().toISOString();
    const given = properties as Record<string, string>;
    if (method === 'PATCH' && id !== undefined) {
      const found = contacts.get(id);
      if (!found) return hubspotError(404, 'OBJECT_NOT_FOUND');
      Object.assign(found.properties, given);
      found.updatedAt = at;
      return { status: 200, body: { ...found, archived: false } };
    }
    if (method !== 'POST' || id !== undefined) return hubspotError(405, 'METHOD_NOT_ALLOWED');
    const same = [...contacts.values()].find(
      (one) => given.email !== undefined && one.properties.email === given.email,
    );
    if (same) return hubspotError(409, 'CONFLICT', { message: `Contact already exists. Existing ID: ${same.id}` });
    lastId += 1;
    const own = { hs_object_id: String(lastId), createdate: at };
    const contact = { id: String(lastId), properties: { ...given, ...own }, createdAt: at, updatedAt: at };
    contacts.set(contact.id, contact);
    return { status: 201, body: { ...contact, archived: false } };
  }

  function answer(request: AppRequest): WireAnswer {
    if (contactsPath.test(request.path)) return onContacts(request);
    if (request.path !== '/account-info/2026-03/details') return hubspotError(404, 'OBJECT_NOT_FOUND');
    const body = { portalId, accountType: 'STANDARD', timeZone: 'US/Eastern', uiDomain: 'app.hubspot.com' };
    return { status: 200, body };
  }

  const app = await startFakeApp(() => ({
    paths: {
      authorize: '/oauth/authorize',
      token: '/oauth/2026-03/token',
      revoke: '/oauth/2026-03/token/revoke',
    },
    pkce: true,
    rules: { rotates: false, detectsReuse: false, revokesAccount: false, lifeSeconds: 1_800 },
    tokenAnswer: ({ scope: _, ...tokens }) => ({
      ...tokens,
      token_type: 'bearer',
      token_use: 'access_token',
      hub_id: portalId,
      user_id: 4_711,
      scopes: [],
    }),
    tokenError: (code) => ({
      status: code === 'invalid_client' ? 401 : 400,
      body: { error: code, error_description: 'Words.', status: 'BAD_REFRESH_TOKEN', message: 'Words.' },
    }),
    refused: () => hubspotError(401, 'EXPIRED_AUTHENTICATION'),
    answer,
  }));
  const fake: FakeHubSpot = Object.assign(app, {
    portalId,
    contacts,
    event(of: Json) {
      lastEvent += 1;
      return {
        eventId: lastEvent,
        subscriptionId: 12_345,
        portalId,
        appId: 54_321,
        occurredAt: Date.now(),
        attemptNumber: 0,
        objectId: 123,
        changeSource: 'CRM',
        ...of,
      };
    },
    sign(url: string, body: string, { secret = app.clientSecret, at = Date.now() } = {}) {
      const signature = createHmac('sha256', secret).update(`POST${url}${body}${at}`).digest('base64');
      return { 'x-hubspot-signature-v3': signature, 'x-hubspot-request-timestamp': String(at) };
    },
    send(eventsUrl: string, events: Json[], options: { secret?: string; at?: number; signedUrl?: string } = {}) {
      const body = JSON.stringify(events);
      const headers = fake.sign(options.signedUrl ?? eventsUrl, body, options);
      return fetch(eventsUrl, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
    },
  });
  return fake;
}
