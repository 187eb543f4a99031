import { type AppRequest, type FakeApp, startFakeApp } from './oauth/oauth-app.ts';
import type { Json, WireAnswer } from './wire-server.ts';

/** Errors as Salesforce words them: a list. */
export const salesforceError = (status: number, errorCode: string, fields?: string[]): WireAnswer => ({
  status,
  body: [{ message: 'Words.', errorCode, ...(fields && { fields }) }],
});

export interface SalesforceRecord extends Json {
  Id: string;
}

export interface FakeSalesforce extends FakeApp {
  organizationId: string;
  userId: string;
  /** What its token endpoint names as the address of the account's server. */
  instanceUrl: string;
  /** By the name of their object. */
  records: Map<string, SalesforceRecord[]>;
  /** Objects that the person who connected the account may not read. */
  unreadable: Set<string>;
  /** Records per page of a query. */
  perPage: number;
  /** Saves a record. @param at of CreatedDate and SystemModstamp, in milliseconds */
  save(object: string, record: Json, at?: number): SalesforceRecord;
}

const prefixes: Record<string, string> = { Lead: '00Q', Contact: '003', Opportunity: '006', Account: '001' };
const base = '/services/data/v66.0';
const timeOf = (at: number) => new Date(at).toISOString().replace(/Z$/, '+0000');

/** What the condition of a poll says: `Field >= time`, or a time and an id. Others are true. */
function matches(record: SalesforceRecord, where: string): boolean {
  const at = (name: string) => Date.parse(String(record[name]).replace('+0000', 'Z'));
  const page = /^\(\((\w+) = (\S+) AND Id > '(\w+)'\) OR \w+ > \S+\)$/.exec(where);
  if (page) {
    const [, name, time, id] = page;
    return at(name!) > Date.parse(time!) || (at(name!) === Date.parse(time!) && record.Id > id!);
  }
  const [, name, sign, time] = /^(\w+) (>=?) (\S+)$/.exec(where) ?? [];
  if (name === undefined) return true;
  return sign === '>' ? at(name) > Date.parse(time!) : at(name) >= Date.parse(time!);
}

/** Salesforce's authorization server and REST API: an organization with records. */
export async function startFakeSalesforce(): Promise<FakeSalesforce> {
  const records = new Map<string, SalesforceRecord[]>();
  const unreadable = new Set<string>();
  const [organizationId, userId] = ['00Dx0000000BV7z', '005x00000012Q9P'];
  let lastId = 0;

  function createLead({ body }: AppRequest): WireAnswer {
    const missing = ['LastName', 'Company'].filter((name) => !body?.[name]);
    if (missing.length > 0) return salesforceError(400, 'REQUIRED_FIELD_MISSING', missing);
    if (body.Email !== undefined && !String(body.Email).includes('@')) {
      return salesforceError(400, 'INVALID_EMAIL_ADDRESS', ['Email']);
    }
    const known = (records.get('Lead') ?? []).some(({ Email }) => Email !== undefined && Email === body.Email);
    if (known) return salesforceError(400, 'DUPLICATES_DETECTED');
    return { status: 201, body: { id: fake.save('Lead', body).Id, success: true, errors: [] } };
  }

  const pageOf = (all: SalesforceRecord[], offset: number, object: string): WireAnswer => {
    const rest = all.length > offset + fake.perPage;
    const attributes = (Id: string) => ({ type: object, url: `${base}/sobjects/${object}/${Id}` });
    return {
      status: 200,
      body: {
        totalSize: all.length,
        done: !rest,
        ...(rest && { nextRecordsUrl: `${base}/query/01gx000000MYQUERY-${object}-${offset + fake.perPage}` }),
        records: all.slice(offset, offset + fake.perPage).map((one) => ({ attributes: attributes(one.Id), ...one })),
      },
    };
  };

  /** As much of SOQL as is needed. */
  function query(soql: string): WireAnswer {
    const parsed =
      /^\s*SELECT\s+(.+?)\s+FROM\s+(\w+)(?:\s+WHERE\s+(.+?))?(?:\s+ORDER\s+BY\s+(.+?))?(?:\s+LIMIT\s+(\d+))?\s*$/is.exec(
        soql,
      );
    if (!parsed) return salesforceError(400, 'MALFORMED_QUERY');
    const [, , object = '', where = '', order = '', limit] = parsed;
    if (prefixes[object] === undefined || unreadable.has(object)) return salesforceError(400, 'INVALID_TYPE');
    const [name = 'Id', ...rest] = order.split(/[\s,]+/).filter((part) => part !== '');
    const keyOf = (one: SalesforceRecord) => `${one[name]} ${one.Id}`;
    const found = (records.get(object) ?? []).filter((one) => matches(one, where));
    found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    if (rest.includes('DESC')) found.reverse();
    return pageOf(limit === undefined ? found : found.slice(0, Number(limit)), 0, object);
  }

  function answer(request: AppRequest): WireAnswer {
    const { method, path, query: sent } = request;
    if (path === '/services/oauth2/userinfo') {
      const body = {
        user_id: userId,
        organization_id: organizationId,
        name: 'Ada Lovelace',
        preferred_username: 'ada',
      };
      return { status: 200, body };
    }
    if (method === 'POST' && path === `${base}/sobjects/Lead`) return createLead(request);
    if (method === 'GET' && path === `${base}/query`) return query(sent.get('q') ?? '');
    const [, object = '', offset] = new RegExp(`^${base}/query/01gx000000MYQUERY-(\\w+)-(\\d+)$`).exec(path) ?? [];
    if (offset === undefined) return salesforceError(404, 'NOT_FOUND');
    return pageOf(records.get(object) ?? [], Number(offset), object);
  }

  const app = await startFakeApp((origin) => ({
    paths: {
      authorize: '/services/oauth2/authorize',
      token: '/services/oauth2/token',
      revoke: '/services/oauth2/revoke',
    },
    pkce: true,
    rules: { rotates: true, detectsReuse: true, revokesAccount: false, lifeSeconds: 7_200 },
    // The organization sets the length of a session, and the answer does not have it.
    tokenAnswer: ({ expires_in: _, ...tokens }) => ({
      ...tokens,
      instance_url: fake.instanceUrl,
      id: `${origin}/id/${organizationId}/${userId}`,
      issued_at: String(Date.now()),
      signature: 'words',
    }),
    refused: ({ path }) =>
      path === '/services/oauth2/userinfo'
        ? { status: 403, headers: { 'content-type': 'text/plain' }, body: undefined }
        : salesforceError(401, 'INVALID_SESSION_ID'),
    answer,
  }));
  const fake: FakeSalesforce = Object.assign(app, {
    organizationId,
    userId,
    instanceUrl: app.origin,
    records,
    unreadable,
    perPage: 2_000,
    save(object: string, record: Json, at = Date.now()) {
      lastId += 1;
      const Id = `${prefixes[object]}x${String(lastId).padStart(11, '0')}AAA`;
      // Its times have whole seconds.
      const time = timeOf(Math.floor(at / 1_000) * 1_000);
      const saved = { ...record, Id, CreatedDate: time, SystemModstamp: time };
      records.set(object, [...(records.get(object) ?? []), saved]);
      return saved;
    },
  });
  return fake;
}
