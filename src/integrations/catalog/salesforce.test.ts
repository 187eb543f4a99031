import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ConnectedAccount, connectAccount, performChecked } from '../../../test/fakes/connected-account.ts';
import { type FakeSalesforce, salesforceError, startFakeSalesforce } from '../../../test/fakes/salesforce.ts';
import { salesforce } from './salesforce.ts';

let fake: FakeSalesforce;
let connected: ConnectedAccount;

const connect = (allowed: string[] = []) =>
  connectAccount(salesforce, fake, { SALESFORCE_LOGIN_BASE_URL: fake.origin }, { prefix: 'SALESFORCE', allowed });

beforeAll(async () => {
  fake = await startFakeSalesforce();
  connected = await connect();
});
beforeEach(() => {
  fake.reset();
  fake.instanceUrl = fake.origin;
  fake.perPage = 2_000;
});
afterAll(async () => {
  await connected.close();
  await fake.close();
});

const perform = (action: string, payload: object) => performChecked(salesforce, action, payload, connected.call);
const fieldsOf = (action: string, payload: unknown) =>
  salesforce.actions[action]!.payload.safeParse(payload).error?.issues.map(({ path }) => path.join('.'));

test('the account is the organization, on the server that came with the tokens', async () => {
  expect(connected.account).toEqual({
    id: '00Dx0000000BV7z',
    name: '127.0.0.1',
    details: { instanceUrl: fake.origin, user: '005x00000012Q9P' },
  });
  expect(await salesforce.test(connected.call)).toEqual({ workspace: '127.0.0.1', user: 'Ada Lovelace' });
});

test.each([
  ['another scheme', 'ftp://a.example'],
  ['no address', 'a.example'],
  ['a user', 'https://a:b@a.example'],
  ['a path', 'https://a.example/evil'],
  ['a query', 'https://a.example/?x'],
  ['no text', 7],
])('an instance_url with %s is refused when the account is connected', async (_, instanceUrl) => {
  const answer = { instance_url: instanceUrl, id: 'https://login.salesforce.com/id/00Dx0000000BV7z/005x00000012Q9P' };
  const refused = salesforce.accountOf(answer, connected.call);
  await expect(refused).rejects.toMatchObject({ kind: 'action_failed', providerCode: 'invalid_instance_url' });
});

test('tokens without the identity of their owner are refused', async () => {
  for (const id of [
    undefined,
    7,
    '',
    'https://a.example/id/x/y',
    'https://a.example/id/00Dx0000000BV7z/../005x00000012Q9P',
  ]) {
    const refused = salesforce.accountOf({ instance_url: 'https://a.example', id }, connected.call);
    await expect(refused).rejects.toMatchObject({ providerCode: 'no_identity' });
  }
});

test('a server at a private address is never reached, nor the one that a refresh names', async () => {
  const port = new URL(fake.origin).port;
  fake.instanceUrl = `http://localhost:${port}`;
  const elsewhere = await connect();
  fake.reset();
  const lead = { LastName: 'Lovelace', Company: 'Analytical Engines' };
  const refused = performChecked(salesforce, 'create_lead', lead, elsewhere.call);
  await expect(refused).rejects.toMatchObject({ kind: 'action_failed' });
  expect(fake.journal).toEqual([]);
  await elsewhere.close();

  fake.instanceUrl = 'http://127.0.0.1:1';
  fake.grants.endAccessTokens();
  await perform('query', { soql: 'SELECT Id FROM Lead' });
  expect(fake.journal.map(({ endpoint }) => endpoint)).toEqual(['api', 'token', 'api']);
});

test('a user whose token is refused is asked for with a new one', async () => {
  fake.grants.endAccessTokens();
  expect(await salesforce.test(connected.call)).toMatchObject({ user: 'Ada Lovelace' });
});

test('leads are created, with fields of their own', async () => {
  const lead = { FirstName: 'Ada', LastName: 'Lovelace', Company: 'Analytical Engines', Region__c: 'North', Score: 7 };
  expect(await perform('create_lead', lead)).toEqual({ id: expect.stringMatching(/^00Q\w{15}$/) });
  expect(fake.journal[0]).toMatchObject({ path: '/services/data/v66.0/sobjects/Lead', body: lead });
  const wrong = perform('create_lead', { ...lead, Email: 'nobody' });
  await expect(wrong).rejects.toMatchObject({
    kind: 'invalid_payload',
    providerCode: 'INVALID_EMAIL_ADDRESS',
    errors: [{ path: 'Email', message: 'Salesforce did not accept this field: INVALID_EMAIL_ADDRESS.' }],
  });
});

test('payloads that do not fit name the field', () => {
  const lead = { LastName: 'Lovelace', Company: 'Analytical Engines' };
  expect(fieldsOf('create_lead', lead)).toBeUndefined();
  expect(fieldsOf('create_lead', {})).toEqual(['LastName', 'Company']);
  expect(fieldsOf('create_lead', { ...lead, LastName: ' ', Company: 'x'.repeat(256) })).toEqual([
    'LastName',
    'Company',
  ]);
  expect(fieldsOf('create_lead', { ...lead, attributes: {} })).toEqual(['attributes']);
  const { error } = salesforce.actions.create_lead!.payload.safeParse({ ...lead, attributes: {} });
  expect(error?.issues[0]?.message).toMatch(/^Expected a string/);
  expect(fieldsOf('create_lead', { ...lead, 'a b': 'x' })).toEqual(['a b']);
  const hidden = JSON.parse(`{"__proto__": "x", ${JSON.stringify(lead).slice(1)}`);
  expect(fieldsOf('create_lead', hidden)).toEqual(['__proto__']);
  for (const soql of ['', 'DELETE FROM Lead', 'SELECTED', `SELECT ${'x'.repeat(20_000)}`, 7, undefined]) {
    expect([soql, fieldsOf('query', { soql })]).toEqual([soql, ['soql']]);
  }
  const next = [
    '/services/data/v66.0/sobjects/Lead',
    '/services/data/v66.0/query/../x',
    'https://a.example/',
    '//a.example/x',
  ];
  for (const nextRecordsUrl of next) {
    expect(fieldsOf('query', { nextRecordsUrl })).toEqual(['nextRecordsUrl']);
  }
  expect(
    fieldsOf('query', { soql: 'SELECT Id FROM Lead', nextRecordsUrl: '/services/data/v66.0/query/01g-2000' }),
  ).toEqual(['soql']);
});

test('queries are read page by page, whatever stands in them', async () => {
  for (const Name of ['a', 'b', 'c']) fake.save('Account', { Name });
  fake.perPage = 2;
  const soql = "select Id, Name from Account where Name != 'ü&q=SELECT#?/..' ";
  const first = (await perform('query', { soql })) as { nextRecordsUrl: string };
  expect(fake.journal[0]!.query.getAll('q')).toEqual([soql]);
  expect(first).toMatchObject({ totalSize: 3, done: false, records: [{ Name: 'a' }, { Name: 'b' }] });
  const { nextRecordsUrl } = first;
  const last = await perform('query', { nextRecordsUrl });
  expect(last).toMatchObject({ done: true, records: [{ Name: 'c', attributes: { type: 'Account' } }] });
  expect(last).not.toHaveProperty('nextRecordsUrl');

  await perform('query', { soql: `SELECT Id FROM Account WHERE Name != '${'x'.repeat(12_000)}'` });
  fake.journal.length = 0;
  const large = perform('query', { soql: `SELECT Id FROM Account WHERE Name != '${'ü'.repeat(3_000)}'` });
  await expect(large).rejects.toMatchObject({ kind: 'invalid_payload', errors: [{ path: 'soql' }] });
  expect(fake.journal).toEqual([]);
  await expect(perform('query', { soql: 'SELECT FROM' })).rejects.toMatchObject({
    kind: 'invalid_payload',
    providerCode: 'MALFORMED_QUERY',
    errors: [{ path: 'soql', message: 'Salesforce did not accept this query: MALFORMED_QUERY.' }],
  });
});

test.each([
  ['a limit of requests', salesforceError(403, 'REQUEST_LIMIT_EXCEEDED'), { kind: 'rate_limited' }],
  [
    'a missing field',
    salesforceError(400, 'REQUIRED_FIELD_MISSING', ['Company']),
    { kind: 'invalid_payload', errors: [{ path: 'Company' }] },
  ],
  [
    'a duplicate',
    salesforceError(400, 'DUPLICATES_DETECTED'),
    { kind: 'action_failed', providerCode: 'DUPLICATES_DETECTED' },
  ],
  [
    'no access',
    salesforceError(403, 'INSUFFICIENT_ACCESS'),
    { kind: 'action_failed', providerCode: 'INSUFFICIENT_ACCESS' },
  ],
  ['a locked row', salesforceError(400, 'UNABLE_TO_LOCK_ROW'), { kind: 'not_done' }],
  ['a server that is away', salesforceError(503, 'SERVER_UNAVAILABLE'), { kind: 'not_done' }],
  ['an unknown object', salesforceError(404, 'NOT_FOUND'), { kind: 'action_failed', providerCode: 'NOT_FOUND' }],
  ['an error of the server', salesforceError(500, 'UNKNOWN_EXCEPTION'), { kind: 'lost' }],
  [
    'a field that is no name',
    salesforceError(400, 'INVALID_FIELD', ['a b<script>']),
    { kind: 'invalid_payload', errors: [{ path: '' }] },
  ],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: [] }, { kind: 'action_failed' }],
])('%s', async (_, fail, failure) => {
  fake.next({ fail });
  const errors = 'errors' in failure ? { errors: failure.errors.map((one) => expect.objectContaining(one)) } : {};
  const refused = perform('create_lead', { LastName: 'Lovelace', Company: 'Analytical Engines' });
  await expect(refused).rejects.toMatchObject({ ...failure, ...errors });
  expect(fake.journal).toHaveLength(1);
});

test('a refusal of a token that lasts ends the access', async () => {
  const { connected: other } = { connected: await connect() };
  fake.reset();
  fake.always({ fail: salesforceError(401, 'INVALID_SESSION_ID') });
  const refused = performChecked(salesforce, 'query', { soql: 'SELECT Id FROM Lead' }, other.call);
  await expect(refused).rejects.toMatchObject({ name: 'AuthExpired' });
  expect(fake.journal.map(({ endpoint }) => endpoint)).toEqual(['api', 'token', 'api']);
  await other.close();
});

test('the sandbox answers the same to the same', () => {
  const seed = 'c4'.repeat(32);
  for (const { sandbox, answer, example } of Object.values(salesforce.actions)) {
    expect(sandbox(example.payload, seed)).toEqual(sandbox(example.payload, seed));
    answer.parse(sandbox(example.payload, seed));
  }
});
