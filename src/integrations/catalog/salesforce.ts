import { z } from 'zod';
import { withoutSlash } from '../../platform/core/base-url.ts';
import { isJsonObject } from '../../platform/core/json-shapes.ts';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';
import { retryAfterOf, statusFailure } from '../calls/answers.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { ProviderAnswer, ProviderRequest } from '../calls/provider-call.ts';
import { defineAction, defineIntegration } from '../definition/integration.ts';
import { salesforcePoll } from './salesforce-poll.ts';
import { dataPath, queryRequest } from './salesforce-query.ts';

const scopes = ['api', 'refresh_token'];

/** https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/errorcodes.htm: a list of them. */
const errorBody = z
  .array(z.object({ errorCode: z.string(), fields: z.array(z.string()).max(1_000).nullish() }))
  .min(1)
  .max(1_000);

/** Codes of status 400 that are not about the form of the request. */
const notTheForm =
  /^(DUPLICATE|QUERY_TIMEOUT|INSUFFICIENT|CANNOT_|ENTITY_IS_|STORAGE_LIMIT|APEX_ERROR|UNKNOWN_EXCEPTION)/;
const fieldPattern = /^\w{1,255}$/;

function failureOf(answer: ProviderAnswer): IntegrationFailure | undefined {
  const { data: said } = errorBody.safeParse(answer.body);
  const providerCode = said?.[0]?.errorCode;
  const failure = statusFailure(answer, providerCode);
  if (failure === undefined) return undefined;
  const facts = { providerCode, retryAfterSeconds: retryAfterOf(answer) };
  // The address that names the user refuses a token with 403 and the text Bad_OAuth_Token.
  const isRefused = providerCode === 'INVALID_SESSION_ID' || (answer.status === 403 && answer.body === undefined);
  if (isRefused) return new IntegrationFailure('auth_expired', facts);
  if (providerCode === 'REQUEST_LIMIT_EXCEEDED') return new IntegrationFailure('rate_limited', facts);
  if (providerCode === 'UNABLE_TO_LOCK_ROW' || providerCode === 'SERVER_UNAVAILABLE') {
    return new IntegrationFailure('not_done', facts);
  }
  if (answer.status !== 400) return failure;
  if (providerCode !== undefined && notTheForm.test(providerCode))
    return new IntegrationFailure('action_failed', facts);
  const code = failure.providerCode ?? 'BAD_REQUEST';
  const named = said?.flatMap(({ errorCode, fields }) => (fields ?? []).map((field) => ({ field, errorCode })));
  const errors = (named ?? [])
    .filter(({ field, errorCode }) => fieldPattern.test(field) && fieldPattern.test(errorCode))
    .slice(0, 50)
    .map(({ field, errorCode }) => ({ path: field, message: `Salesforce did not accept this field: ${errorCode}.` }));
  const whole = [{ path: '', message: `Salesforce refused the request: ${code}.` }];
  return new IntegrationFailure('invalid_payload', { ...facts, errors: errors.length > 0 ? errors : whole });
}

const field = z.union(
  [z.string().max(131_072), z.number(), z.boolean(), z.null()],
  'Expected a string of at most 131,072 characters, a number, a boolean or null.',
);
const noFieldName = 'Expected the API name of a field.';
const leadFields = z
  .object({
    FirstName: z.string().max(40).optional(),
    LastName: z.string().trim().min(1).max(80),
    Email: z.string().max(80).optional(),
    Company: z.string().trim().min(1).max(255),
  })
  .catchall(field)
  .superRefine((all, { addIssue }) => {
    const names = Object.keys(all);
    if (names.length > 200) addIssue({ code: 'custom', message: 'Expected at most 200 fields.' });
    for (const name of names.slice(0, 200)) {
      if (/^[A-Za-z]\w{0,254}$/.test(name)) continue;
      addIssue({ code: 'custom', path: [name.slice(0, 255)], message: noFieldName });
    }
  });
/** Looked for before the fields are read, because Zod leaves out a member with this name. */
const lead = z.preprocess((given, { addIssue }) => {
  if (isJsonObject(given) && Object.hasOwn(given, '__proto__')) {
    addIssue({ code: 'custom', path: ['__proto__'], message: noFieldName });
  }
  return given;
}, leadFields);

const created = z.object({ id: z.string().min(1).max(100), success: z.boolean() });

const createLead = defineAction({
  summary: 'Creates a lead. Other fields of it are named as in the API, such as LeadSource or Region__c.',
  payload: lead,
  answer: z.object({ id: z.string() }),
  example: {
    payload: { FirstName: 'Ada', LastName: 'Lovelace', Email: 'ada@example.com', Company: 'Analytical Engines' },
    answer: { id: '00QD000000FHpMnMAL' },
  },
  writes: true,
  async perform(payload, call) {
    const { id, success } = await call.request(
      { method: 'POST', path: `${dataPath}/sobjects/Lead`, json: payload },
      created,
    );
    if (!success) throw new IntegrationFailure('action_failed');
    return { id };
  },
  sandbox: (_, seed) => ({ id: `00Q${seed.slice(0, 12).toUpperCase()}AAA` }),
});

/** Salesforce refuses addresses from 16,384 bytes on, its own part included. */
const maxQueryLength = 16_000;
const nextPattern = /^\/services\/data\/v\d{2,3}\.\d\/query\/[A-Za-z0-9_-]{1,200}$/;

const page = z.object({
  totalSize: z.int().nonnegative(),
  done: z.boolean(),
  records: z.array(z.record(z.string(), z.unknown())).max(10_000),
  nextRecordsUrl: z.string().max(500).optional(),
});

const atQuery = (path: 'soql' | 'nextRecordsUrl', message: string, providerCode?: string) =>
  new IntegrationFailure('invalid_payload', { providerCode, errors: [{ path, message }] });

const query = defineAction({
  summary: 'Runs a query in SOQL, or reads the next records of one.',
  payload: z
    .object({
      soql: z
        .string()
        .max(20_000)
        // Without a flag, which a JSON Schema could not say.
        .regex(/^\s*[Ss][Ee][Ll][Ee][Cc][Tt]\s/, 'Expected a query that begins with SELECT.')
        .optional(),
      nextRecordsUrl: z.string().max(500).regex(nextPattern, 'Expected nextRecordsUrl of an answer.').optional(),
    })
    .refine(({ soql, nextRecordsUrl }) => (soql === undefined) !== (nextRecordsUrl === undefined), {
      path: ['soql'],
      message: 'Expected either soql, or nextRecordsUrl of the answer before.',
    }),
  answer: z.object({
    totalSize: z.number(),
    done: z.boolean(),
    records: z.array(z.record(z.string(), z.unknown())),
    nextRecordsUrl: z.string().optional(),
  }),
  example: {
    payload: { soql: "SELECT Id, Name FROM Account WHERE Industry = 'Banking' LIMIT 2" },
    answer: {
      totalSize: 1,
      done: true,
      records: [
        {
          attributes: { type: 'Account', url: '/services/data/v66.0/sobjects/Account/001D000000IRFmaIAH' },
          Id: '001D000000IRFmaIAH',
          Name: 'Analytical Engines',
        },
      ],
    },
  },
  writes: false,
  async perform({ soql, nextRecordsUrl }, call) {
    const request: ProviderRequest =
      nextRecordsUrl === undefined ? queryRequest(soql!) : { method: 'GET', path: nextRecordsUrl };
    if (new URLSearchParams(request.query).toString().length > maxQueryLength) {
      throw atQuery('soql', `Expected at most ${maxQueryLength} characters when it is encoded for an address.`);
    }
    try {
      return await call.request(request, page);
    } catch (error) {
      if (!(error instanceof IntegrationFailure) || error.kind !== 'invalid_payload') throw error;
      const path = nextRecordsUrl === undefined ? 'soql' : 'nextRecordsUrl';
      throw atQuery(path, `Salesforce did not accept this query: ${error.providerCode}.`, error.providerCode);
    }
  },
  sandbox: ({ soql = '' }, seed) => {
    const [, type = 'Account'] = /\sfrom\s+(\w{1,80})/i.exec(soql) ?? [];
    const id = `001${seed.slice(0, 12).toUpperCase()}AAA`;
    const attributes = { type, url: `${dataPath}/sobjects/${type}/${id}` };
    return { totalSize: 1, done: true, records: [{ attributes, Id: id, Name: 'Sandbox record' }] };
  },
});

/** `https://login.salesforce.com/id/00Dx0000000BV7z/005x00000012Q9P`, which comes with the tokens. */
const identityPattern = /\/id\/(00D[A-Za-z0-9]{12,15})\/(005[A-Za-z0-9]{12,15})$/;

/** The origin of the server that an account lives on. Whether it is reached the guard of requests decides. */
function instanceOf(text: unknown): URL {
  const url = typeof text === 'string' && text.length <= 300 ? URL.parse(text) : null;
  const isBare = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
  if (isBare && url.pathname === '/' && url.search === '' && url.hash === '') return url;
  throw new IntegrationFailure('action_failed', { providerCode: 'invalid_instance_url' });
}

const userInfo = z.object({
  user_id: z.string().max(100),
  name: z.string().max(1_000).nullish(),
  preferred_username: z.string().max(1_000).nullish(),
});

/** Salesforce's REST API. It sends no events: they are polled. */
export const salesforce = defineIntegration({
  id: 'salesforce',
  name: 'Salesforce',
  description: 'Create leads and query records, and receive events for new contacts and changed opportunities.',
  category: 'crm',
  settings: {
    SALESFORCE_CLIENT_ID: foreignKey.optional(),
    SALESFORCE_CLIENT_SECRET: foreignKey.optional(),
    SALESFORCE_LOGIN_BASE_URL: httpUrl.default('https://login.salesforce.com'),
  },
  client(env) {
    const { SALESFORCE_CLIENT_ID: clientId, SALESFORCE_CLIENT_SECRET: clientSecret } = env;
    if (clientId === undefined || clientSecret === undefined) return undefined;
    const login = withoutSlash(env.SALESFORCE_LOGIN_BASE_URL);
    return {
      consent: {
        kind: 'oauth',
        provider: {
          id: 'salesforce',
          clientId,
          clientSecret,
          pkce: true,
          clientAuth: 'body',
          scopes,
          authorizeUrl: `${login}/services/oauth2/authorize`,
          tokenUrl: `${login}/services/oauth2/token`,
          revokeUrl: `${login}/services/oauth2/revoke`,
        },
      },
      // The value at the time of the connection: a different value in a later answer with tokens is ignored.
      baseUrl: ({ instanceUrl }) => instanceUrl ?? login,
      authorization: (token) => ({ authorization: `Bearer ${token}` }),
    };
  },
  scopes: { all: scopes, default: scopes, required: scopes },
  async accountOf({ instance_url: instanceUrl, id: identity }) {
    const instance = instanceOf(instanceUrl);
    const [, organization, user] = identityPattern.exec(typeof identity === 'string' ? identity : '') ?? [];
    if (organization === undefined || user === undefined) {
      throw new IntegrationFailure('action_failed', { providerCode: 'no_identity' });
    }
    return { id: organization, name: instance.hostname, details: { instanceUrl: instance.origin, user } };
  },
  async test(call) {
    const person = await call.request({ method: 'GET', path: '/services/oauth2/userinfo' }, userInfo);
    return { workspace: call.account.name, user: person.name || person.preferred_username || person.user_id };
  },
  failureOf,
  actions: { create_lead: createLead, query },
  triggers: {
    contact_created: {
      summary: 'A contact was created. Checked every minute.',
      data: z.object({ contactId: z.string(), occurredAt: z.string() }),
      example: { contactId: '003D000000QV9n2IAD', occurredAt: '2026-11-20T09:30:00.000Z' },
    },
    deal_updated: {
      summary: 'An opportunity was saved: its stage at that time. Checked every minute.',
      data: z.object({ dealId: z.string(), property: z.string(), value: z.string(), occurredAt: z.string() }),
      example: {
        dealId: '006D000000CWxQ2IAL',
        property: 'StageName',
        value: 'Closed Won',
        occurredAt: '2026-11-20T09:30:00.000Z',
      },
    },
  },
  poll: salesforcePoll,
});
