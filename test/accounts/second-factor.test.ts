import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { createLink } from '../../src/accounts/links.ts';
import { resetSecondFactor } from '../../src/accounts/second-factor.ts';
import { sqlOn } from '../../src/platform/database/sql.ts';
import { secrets } from '../operator.ts';
import { type StartedProduct, startProduct } from '../product.ts';
import { clientWith, cookieOf, type Person, personWith, sendForm } from './people.ts';
import { totp } from './totp.ts';

let product: StartedProduct;
let base: string;

beforeAll(async () => {
  product = await startProduct({ ...secrets, ADDRESS_RATE_MAX: '0' });
  base = product.process.api;
});
afterAll(() => product.close());

const newPerson = () => personWith({ ...product, base, organizationId: product.tenant.organizationId }, 'member');
/** Forms come from addresses of their own, whose failures do not count for each other. */
let addresses = 0;
const nextAddress = () => ({ 'x-forwarded-for': `198.51.100.${++addresses % 250}` });
const act = (cookie: string, fields: Record<string, string>) =>
  sendForm(`${base}/api/auth/second-factor`, fields, { cookie, ...nextAddress() });
const isOpen = async (cookie: string) => (await clientWith(base, { cookie }).get('/api/v1/account')).status === 200;
const secretOf = (html: string) => /<p><code>([A-Z2-7 ]+)<\/code>/.exec(html)![1]!;
const codesOf = (html: string) => [...html.matchAll(/<li><code>([^<]+)</g)].map(([, code]) => code!);
const cookiesOf = (answer: Response) =>
  answer.headers
    .getSetCookie()
    .map((cookie) => cookie.slice(0, cookie.indexOf(';')))
    .filter((cookie) => !cookie.endsWith('='))
    .join('; ');
const hasSession = (answer: Response) => answer.headers.getSetCookie().some((cookie) => /^atelier=[^;]/.test(cookie));

const signIn = (email: string, password: string, query = '') =>
  sendForm(`${base}/api/auth/sign-in${query}`, { email, password }, nextAddress());
const sendCode = (cookie: string, code: string, query = '') =>
  sendForm(`${base}/api/auth/two-factor${query}`, { code }, { cookie, ...nextAddress() });

async function openLink({ email }: Person): Promise<Response> {
  const { token } = await createLink(sqlOn(product.database.pool), email, accountTimes());
  return sendForm(`${base}/api/auth/link/${token}`);
}

/** Sets the second factor up. @returns its secret and the cookie of the session that goes on */
async function setUp(cookie: string, password?: string) {
  const setup = await act(cookie, { action: 'begin', ...(password && { password }) });
  expect(setup.status).toBe(200);
  const html = await setup.text();
  const secret = secretOf(html);
  const confirmed = await act(cookie, { action: 'confirm', code: totp(secret) });
  expect(await confirmed.text()).toContain('The second factor is on.');
  return { secret, codes: codesOf(html), cookie: cookieOf(confirmed) };
}

test('only signed-in people see the page and change anything', async () => {
  for (const answer of [
    await fetch(`${base}/api/auth/second-factor`, { redirect: 'manual' }),
    await act('', { action: 'begin' }),
  ]) {
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      '/api/auth/sign-in?next=%2Fapi%2Fauth%2Fsecond-factor',
    ]);
  }
  const { cookie } = await newPerson();
  const forged = await sendForm(
    `${base}/api/auth/second-factor`,
    { action: 'begin' },
    { cookie, origin: 'https://x.example' },
  );
  expect(forged.status).toBe(403);
});

test('a person with a password sets it up, signs in with a code or a backup code, and turns it off', async () => {
  const person = await newPerson();
  const password = 'seven blue boats at noon';
  const set = await sendForm(`${base}/api/auth/password`, { newPassword: password }, { cookie: person.cookie });
  expect(set.status).toBe(200);
  expect((await act(person.cookie, { action: 'begin', password: 'not the right one' })).status).toBe(400);
  expect((await act(person.cookie, { action: 'begin' })).status).toBe(400);
  expect((await act(person.cookie, { action: 'off', password })).status).toBe(200);

  const begun = await (await act(person.cookie, { action: 'begin', password })).text();
  expect(begun).toContain('otpauth://totp/');
  expect(codesOf(begun)).toHaveLength(10);
  expect((await act(person.cookie, { action: 'confirm', code: '000000' })).status).toBe(400);
  // A factor that was not confirmed is asked for nowhere.
  expect(hasSession(await signIn(person.email, password))).toBe(true);
  const { secret, codes, cookie } = await setUp(person.cookie, password);
  expect([await isOpen(person.cookie), await isOpen(cookie)]).toEqual([false, true]);

  const asked = await signIn(person.email, password, '?next=%2Fapp%2Finbox');
  expect([asked.status, hasSession(asked)]).toEqual([200, false]);
  expect(await asked.text()).toContain('action="/api/auth/two-factor?next=%2Fapp%2Finbox"');
  const challenge = cookiesOf(asked);
  expect(await isOpen(challenge)).toBe(false);
  const wrong = await sendCode(challenge, '000000');
  expect([wrong.status, hasSession(wrong)]).toEqual([401, false]);
  const entered = await sendCode(challenge, totp(secret), '?next=%2Fapp%2Finbox');
  expect([entered.status, entered.headers.get('location')]).toEqual([303, '/app/inbox']);
  expect(await isOpen(cookieOf(entered))).toBe(true);
  // A challenge is met once.
  const replayed = await sendCode(challenge, totp(secret));
  expect([replayed.status, hasSession(replayed)]).toEqual([401, false]);

  const [backup, unused] = codes as [string, string];
  const byBackup = await sendCode(cookiesOf(await signIn(person.email, password)), backup);
  expect(hasSession(byBackup)).toBe(true);
  const twice = await sendCode(cookiesOf(await signIn(person.email, password)), backup);
  expect([twice.status, hasSession(twice)]).toEqual([401, false]);

  const renewed = codesOf(await (await act(cookie, { action: 'codes', password })).text());
  expect(renewed).toHaveLength(10);
  expect((await sendCode(cookiesOf(await signIn(person.email, password)), unused)).status).toBe(401);
  expect((await sendCode(cookiesOf(await signIn(person.email, password)), renewed[0]!)).status).toBe(303);

  expect((await act(cookie, { action: 'off', password: 'not the right one' })).status).toBe(400);
  expect(await (await act(cookie, { action: 'off', password })).text()).toContain('The second factor is off.');
  expect(hasSession(await signIn(person.email, password))).toBe(true);
});

test('a person without a password proves a code in its place, and links ask for one too', async () => {
  const person = await newPerson();
  const { secret, cookie } = await setUp(person.cookie);
  const byLink = await openLink(person);
  expect([byLink.status, hasSession(byLink)]).toEqual([200, false]);
  const entered = await sendCode(cookiesOf(byLink), totp(secret));
  expect(hasSession(entered)).toBe(true);
  for (const action of ['codes', 'off']) {
    expect((await act(cookie, { action })).status).toBe(400);
    expect((await act(cookie, { action, code: '000000' })).status).toBe(400);
  }
  expect(hasSession(await openLink(person))).toBe(false);
  expect((await act(cookie, { action: 'off', code: totp(secret) })).status).toBe(200);
  expect(hasSession(await openLink(person))).toBe(true);
});

test('an invitation to a second organization asks for the code too', async () => {
  const person = await newPerson();
  await setUp(person.cookie);
  const { organizationId } = await product.createTenant();
  await expect(personWith({ ...product, base, organizationId }, 'viewer', person.email)).rejects.toThrow(
    'sets no session cookie',
  );
});

test('codes cannot be guessed: five tries for a sign-in, ten for the account', async () => {
  const person = await newPerson();
  const { secret } = await setUp(person.cookie);
  const first = cookiesOf(await openLink(person));
  for (let time = 0; time < 5; time++) expect((await sendCode(first, '000000')).status).toBe(401);
  const right = await sendCode(first, totp(secret));
  expect(hasSession(right)).toBe(false);
  const second = cookiesOf(await openLink(person));
  for (let time = 0; time < 5; time++) expect((await sendCode(second, '000000')).status).toBe(401);
  const locked = await sendCode(cookiesOf(await openLink(person)), totp(secret));
  expect(hasSession(locked)).toBe(false);
});

test('with a stolen session the password and the code cannot be guessed either', async () => {
  const person = await newPerson();
  const { cookie, secret } = await setUp(person.cookie);
  const statuses = [];
  for (let time = 0; time < 11; time++) statuses.push((await act(cookie, { action: 'off', code: '000000' })).status);
  expect(statuses.slice(0, 9)).toEqual(Array(9).fill(400));
  expect(statuses.at(-1)).toBe(429);
  expect((await act(cookie, { action: 'off', code: totp(secret) })).status).toBe(429);
});

test('an operator turns off what a person has lost, and the sessions end', async () => {
  const person = await newPerson();
  const { cookie } = await setUp(person.cookie);
  expect(await resetSecondFactor(product.database, 'nobody@example.com')).toBe(false);
  expect(await resetSecondFactor(product.database, person.email)).toBe(true);
  expect(await isOpen(cookie)).toBe(false);
  expect(hasSession(await openLink(person))).toBe(true);
});

test('what changes a second factor is not served besides the page', async () => {
  const { cookie } = await newPerson();
  for (const path of ['enable', 'disable', 'get-totp-uri', 'generate-backup-codes']) {
    const headers = { cookie, origin: 'http://127.0.0.1:3000', 'content-type': 'application/json' };
    const answer = await fetch(`${base}/api/auth/two-factor/${path}`, { method: 'POST', headers, body: '{}' });
    expect([path, answer.status]).toEqual([path, 404]);
  }
});
