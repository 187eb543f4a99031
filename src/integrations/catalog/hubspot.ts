import { z } from 'zod';
import { withoutSlash } from '../../platform/core/base-url.ts';
import { isJsonObject } from '../../platform/core/json-shapes.ts';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';
import type { FieldError } from '../../platform/errors.ts';
import { retryAfterOf, statusFailure } from '../calls/answers.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { ProviderAnswer } from '../calls/provider-call.ts';
import { asGiven, documentedAs } from '../definition/as-given.ts';
import { defineAction, defineIntegration } from '../definition/integration.ts';
import { digitsOf, momentOf } from '../definition/sandbox-values.ts';
import { hubspotInbound } from './hubspot-events.ts';

const scopes = ['oauth', 'crm.objects.contacts.read', 'crm.objects.contacts.write', 'crm.objects.deals.read'];

/** https://developers.hubspot.com/docs/api-reference/latest/account/account-information/guide */
const accountDetails = z.object({
  portalId: z.int().nonnegative(),
  portalName: z.string().max(1_000).nullish(),
  uiDomain: z.string().max(255).nullish(),
});
const accountPath = '/account-info/2026-03/details';
const nameOf = ({ portalId, portalName }: z.infer<typeof accountDetails>) => portalName || `HubSpot ${portalId}`;

/** https://developers.hubspot.com/docs/api-reference/error-handling */
const errorBody = z.object({
  category: z.string().nullish(),
  errorType: z.string().nullish(),
  policyName: z.string().nullish(),
  errors: z
    .array(
      z.object({
        code: z.string().nullish(),
        in: z.string().nullish(),
        context: z.record(z.string(), z.unknown()).nullish(),
      }),
    )
    .max(1_000)
    .nullish(),
});

/** Limits come without Retry-After: with the time over which requests are counted. */
const waits: Readonly<Record<string, number>> = { SECONDLY: 1, TEN_SECONDLY_ROLLING: 10, DAILY: 3_600 };

const namePattern = /^\w{1,100}$/;
const maxErrors = 50;

function errorsOf(said: z.infer<typeof errorBody> | undefined, code: string): FieldError[] {
  const found = (said?.errors ?? []).slice(0, maxErrors).flatMap((error) => {
    const [named] = [error.context?.propertyName ?? error.in].flat();
    if (typeof named !== 'string' || !namePattern.test(named)) return [];
    const why = namePattern.test(error.code ?? '') ? error.code : code;
    return [{ path: `properties.${named}`, message: `HubSpot did not accept this value: ${why}.` }];
  });
  return found.length > 0
    ? found
    : [{ path: 'properties', message: `HubSpot did not accept these properties: ${code}.` }];
}

function failureOf(answer: ProviderAnswer): IntegrationFailure | undefined {
  const { data: said } = errorBody.safeParse(answer.body);
  const providerCode = said?.category ?? said?.errorType ?? undefined;
  const failure = statusFailure(answer, providerCode);
  if (failure?.kind === 'rate_limited') {
    const retryAfterSeconds = failure.retryAfterSeconds ?? waits[said?.policyName ?? ''];
    return new IntegrationFailure('rate_limited', {
      providerCode: said?.policyName ?? providerCode,
      retryAfterSeconds,
    });
  }
  if (answer.status === 400) {
    const errors = errorsOf(said, failure?.providerCode ?? 'VALIDATION_ERROR');
    return new IntegrationFailure('invalid_payload', { providerCode, errors });
  }
  // Locked, and moved between data centers: both are refused before anything is done.
  if (answer.status === 423 || answer.status === 477) {
    return new IntegrationFailure('not_done', { providerCode, retryAfterSeconds: retryAfterOf(answer) ?? 2 });
  }
  return failure;
}

const property = z.union(
  [z.string().max(65_536), z.number(), z.boolean()],
  'Expected a string of at most 65,536 characters, a number or a boolean.',
);
const maxProperties = 500;
const anyProperties = z.record(z.string().min(1).max(250), property);
const someProperties = asGiven(anyProperties, property).refine(
  (all) => Object.keys(all).length > 0,
  'Expected at least one property.',
);

/** Counted before they are checked: a body has room for tens of thousands, and each wrong one would be an issue. */
const properties = z
  .preprocess((given, context) => {
    if (!isJsonObject(given) || Object.keys(given as object).length <= maxProperties) return given;
    context.addIssue({ code: 'custom', message: `Expected at most ${maxProperties} properties.` });
    return z.NEVER;
  }, someProperties)
  // What comes before a schema hides it from the reference.
  .meta(documentedAs(anyProperties));

const contactAnswer = z.object({
  id: z.string(),
  properties: z.record(z.string(), z.string().nullable()),
  createdAt: z.string(),
  updatedAt: z.string(),
});
const contact = z.object({
  id: z.string().min(1).max(100),
  properties: z.record(z.string(), z.string().nullable()),
  createdAt: z.string().max(50),
  updatedAt: z.string().max(50),
});

const contactsPath = '/crm/objects/2026-03/contacts';
/** HubSpot's values are strings. */
const asStrings = (given: z.infer<typeof properties>) =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));

const exampleAnswer = {
  id: '51',
  properties: { email: 'ada@example.com', firstname: 'Ada', lastname: 'Lovelace', company: 'Analytical Engines' },
  createdAt: '2026-11-20T09:30:00.000Z',
  updatedAt: '2026-11-20T09:30:00.000Z',
};

const createContact = defineAction({
  summary: 'Creates a contact.',
  payload: z.object({ properties }),
  answer: contactAnswer,
  example: { payload: { properties: exampleAnswer.properties }, answer: exampleAnswer },
  writes: true,
  perform: (payload, call) =>
    call.request({ method: 'POST', path: contactsPath, json: { properties: asStrings(payload.properties) } }, contact),
  sandbox(payload, seed) {
    const at = momentOf(seed).toISOString();
    return { id: digitsOf(seed, 11), properties: asStrings(payload.properties), createdAt: at, updatedAt: at };
  },
});

const updateContact = defineAction({
  summary: 'Changes properties of a contact.',
  payload: z.object({
    contactId: z.string().regex(/^\d{1,20}$/, 'Expected the id of a contact: digits.'),
    properties,
  }),
  answer: contactAnswer,
  example: {
    payload: { contactId: '51', properties: { company: 'Analytical Engines' } },
    answer: { ...exampleAnswer, properties: { company: 'Analytical Engines' } },
  },
  writes: true,
  perform: (payload, call) =>
    call.request(
      {
        method: 'PATCH',
        path: `${contactsPath}/${encodeURIComponent(payload.contactId)}`,
        json: { properties: asStrings(payload.properties) },
      },
      contact,
    ),
  sandbox(payload, seed) {
    const at = momentOf(seed).toISOString();
    return { id: payload.contactId, properties: asStrings(payload.properties), createdAt: at, updatedAt: at };
  },
});

/** HubSpot's CRM. */
export const hubspot = defineIntegration({
  id: 'hubspot',
  name: 'HubSpot',
  description: 'Create and update contacts, and receive events for new contacts and changed deals.',
  category: 'crm',
  settings: {
    HUBSPOT_CLIENT_ID: foreignKey.optional(),
    HUBSPOT_CLIENT_SECRET: foreignKey.optional(),
    HUBSPOT_LOGIN_BASE_URL: httpUrl.default('https://app.hubspot.com'),
    HUBSPOT_BASE_URL: httpUrl.default('https://api.hubapi.com'),
  },
  client(env) {
    const { HUBSPOT_CLIENT_ID: clientId, HUBSPOT_CLIENT_SECRET: clientSecret } = env;
    if (clientId === undefined || clientSecret === undefined) return undefined;
    const api = withoutSlash(env.HUBSPOT_BASE_URL);
    return {
      consent: {
        kind: 'oauth',
        provider: {
          id: 'hubspot',
          clientId,
          clientSecret,
          pkce: true,
          clientAuth: 'body',
          scopes,
          authorizeUrl: `${withoutSlash(env.HUBSPOT_LOGIN_BASE_URL)}/oauth/authorize`,
          tokenUrl: `${api}/oauth/2026-03/token`,
          revokeUrl: `${api}/oauth/2026-03/token/revoke`,
          authenticatesRevocation: true,
        },
      },
      baseUrl: () => api,
      authorization: (token) => ({ authorization: `Bearer ${token}` }),
      inboundSecret: clientSecret,
    };
  },
  scopes: { all: scopes, default: scopes, required: ['oauth'] },
  async accountOf(answer, call) {
    const found = await call.request({ method: 'GET', path: accountPath }, accountDetails);
    const { user_id: user } = answer;
    const details = { ...(Number.isSafeInteger(user) && { user: String(user) }) };
    return { id: String(found.portalId), name: nameOf(found), details };
  },
  // HubSpot names the person only to the client with its secret: the sandbox knows the person by the id that came with
  // the tokens.
  async test(call) {
    const found = await call.request({ method: 'GET', path: accountPath }, accountDetails);
    return { workspace: nameOf(found), user: call.account.details.user ?? String(found.portalId) };
  },
  failureOf,
  actions: { create_contact: createContact, update_contact: updateContact },
  triggers: {
    contact_created: {
      summary: 'A contact was created.',
      data: z.object({ contactId: z.string(), occurredAt: z.string() }),
      example: { contactId: '51', occurredAt: '2026-11-20T09:30:00.000Z' },
    },
    deal_updated: {
      summary: 'A property of a deal was changed.',
      data: z.object({ dealId: z.string(), property: z.string(), value: z.string(), occurredAt: z.string() }),
      example: { dealId: '17', property: 'dealstage', value: 'closedwon', occurredAt: '2026-11-20T09:30:00.000Z' },
    },
  },
  inbound: hubspotInbound,
});
