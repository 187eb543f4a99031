import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { createLink } from '../../src/accounts/links.ts';
import { sqlOn } from '../../src/platform/database/sql.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { clientWith, cookieOf, ownOrigin, type Person, personWith, sendForm } from './people.ts';

let product: StartedProduct;
let base: string;
let page: string;

beforeAll(async () => {
  product = await sharedProduct();
  base = product.process.api;
  page = `${base}/api/auth/password`;
});
afterAll(() => product.close());

const newPerson = () => personWith({ ...product, base, organizationId: product.tenant.organizationId }, 'member');
const show = (cookie: string) => fetch(page, { headers: { cookie }, redirect: 'manual' });
const choose = (cookie: string, fields: Record<string, string>, more: Record<string, string> = {}) =>
  sendForm(page, fields, { cookie, ...more });
const signIn = (email: string, password: string) => sendForm(`${base}/api/auth/sign-in`, { email, password });
const isOpen = async (cookie: string) => (await clientWith(base, { cookie }).get('/api/v1/account')).status === 200;

async function anotherSessionOf({ email }: Person): Promise<string> {
  const { token } = await createLink(sqlOn(product.database.pool), email, accountTimes());
  return cookieOf(await sendForm(`${base}/api/auth/link/${token}`));
}

test('only signed-in people see the page and set a password', async () => {
  for (const answer of [
    await fetch(page, { redirect: 'manual' }),
    await show('atelier=made-up.c2lnbmF0dXJl'),
    await sendForm(page, { newPassword: 'a long enough one' }),
  ]) {
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe('/api/auth/sign-in?next=%2Fapi%2Fauth%2Fpassword');
  }
});

test('a person sets a first password, changes it, and other sessions end', async () => {
  const person = await newPerson();
  const first = 'seven blue boats at noon';
  const second = 'eight green boats at dusk';

  const form = await show(person.cookie);
  expect(form.status).toBe(200);
  expect(form.headers.get('cache-control')).toBe('no-store');
  const html = await form.text();
  expect(html).toContain('name="newPassword"');
  expect(html).not.toContain('name="currentPassword"');
  expect(html).not.toContain('<script');

  for (const [newPassword, reason] of [
    ['short', 'Use at least 12 characters.'],
    ['Password1234', 'one of the commonest passwords'],
    [person.email, 'one of the commonest passwords'],
  ] as const) {
    const refused = await choose(person.cookie, { newPassword });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain(reason);
  }
  expect((await choose(person.cookie, { newPassword: first }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  const { status } = await choose(
    person.cookie,
    { newPassword: first },
    { 'sec-fetch-site': 'same-site', origin: 'null' },
  );
  expect(status).toBe(403);
  expect((await signIn(person.email, first)).status).toBe(401);

  expect((await choose(person.cookie, { newPassword: first })).status).toBe(200);
  const entered = await signIn(person.email, first);
  expect(entered.status).toBe(303);
  expect(await (await show(person.cookie)).text()).toContain('name="currentPassword"');

  // It is not set a second time by who does not know it.
  for (const currentPassword of ['', 'not the right one']) {
    const refused = await choose(person.cookie, { currentPassword, newPassword: second });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('The current password is not right.');
  }
  const elsewhere = [cookieOf(entered), await anotherSessionOf(person)];
  const changed = await choose(person.cookie, { currentPassword: first, newPassword: second });
  expect(changed.status).toBe(200);
  const open = await Promise.all([...elsewhere, person.cookie, cookieOf(changed)].map(isOpen));
  expect(open).toEqual([false, false, false, true]);
  expect((await signIn(person.email, first)).status).toBe(401);
  expect((await signIn(person.email, second)).status).toBe(303);
});

test('a password is as long as it has characters, whatever their alphabet', async () => {
  const person = await newPerson();
  const password = Array.from({ length: 128 }, (_, index) => String.fromCodePoint(0x1f400 + index)).join('');
  const tooLong = await choose(person.cookie, { newPassword: `${password}x` });
  expect([tooLong.status, (await tooLong.text()).includes('Use at most 128 characters.')]).toEqual([400, true]);
  expect((await choose(person.cookie, { newPassword: password })).status).toBe(200);
  expect((await signIn(person.email, password)).status).toBe(303);
});

test('who forgot the password sets a new one in the browser that opened a link, once', async () => {
  const person = await newPerson();
  const [first, second, third] = ['one blue boat at noon', 'two blue boats at noon', 'three blue boats at noon'];
  expect((await choose(person.cookie, { newPassword: first! })).status).toBe(200);

  const { token } = await createLink(sqlOn(product.database.pool), person.email, accountTimes());
  const entered = await sendForm(`${base}/api/auth/link/${token}`);
  const session = cookieOf(entered);
  const set = entered.headers.getSetCookie().find((cookie) => cookie.startsWith('atelier.renewal='))!;
  expect(set).toMatch(/; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/);
  const renewal = set.slice(0, set.indexOf(';'));
  const asks = async (cookie: string) => (await (await show(cookie)).text()).includes('name="currentPassword"');

  // Not the person's other sessions, and not another person's.
  const [other, stranger] = [await anotherSessionOf(person), await newPerson()];
  expect((await choose(stranger.cookie, { newPassword: first! })).status).toBe(200);
  expect([await asks(session), await asks(other), await asks(`${stranger.cookie}; ${renewal}`)]).toEqual([
    true,
    true,
    true,
  ]);
  expect((await choose(`${stranger.cookie}; ${renewal}`, { newPassword: second! })).status).toBe(400);

  const both = `${session}; ${renewal}`;
  const html = await (await show(both)).text();
  expect(html).toContain('You signed in by a link');
  expect(html).not.toContain('name="currentPassword"');
  expect((await choose(both, { newPassword: 'short' })).status).toBe(400);
  const renewed = await choose(both, { newPassword: second! });
  expect(renewed.status).toBe(200);
  expect(renewed.headers.getSetCookie().join()).toContain('atelier.renewal=; Max-Age=0');
  expect(await Promise.all([person.cookie, other, session].map(isOpen))).toEqual([false, false, true]);
  expect((await signIn(person.email, first!)).status).toBe(401);
  expect((await signIn(person.email, second!)).status).toBe(303);

  // It was used up.
  expect(await asks(both)).toBe(true);
  expect((await choose(both, { newPassword: third! })).status).toBe(400);
});

test('of two first passwords at the same moment one is set', async () => {
  const person = await newPerson();
  const passwords = ['one of the two boats', 'the other of two boats'];
  const answers = await Promise.all(passwords.map((newPassword) => choose(person.cookie, { newPassword })));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
  const works = await Promise.all(passwords.map(async (password) => (await signIn(person.email, password)).status));
  expect(works.toSorted()).toEqual([303, 401]);
});

/** Sends a body from an address of its own, whose failures do not count for other tests. */
function sendFrom(localAddress: string, path: string, headers: Record<string, string>, body: string) {
  return new Promise<{ status: number | undefined; retryAfter: string | undefined }>((resolve, reject) => {
    const asked = request(`${base}${path}`, { method: 'POST', localAddress, headers }, (answer) => {
      answer.resume();
      resolve({ status: answer.statusCode, retryAfter: answer.headers['retry-after'] });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

test('passwords are sent in JSON alone: that of a form would not be counted for its account', async () => {
  const person = await newPerson();
  const password = 'nine red boats at night';
  expect((await choose(person.cookie, { newPassword: password })).status).toBe(200);
  const fields = { email: person.email, password };
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  const json = JSON.stringify(fields);
  const send = (body: NonNullable<RequestInit['body']>, type?: string) =>
    fetch(`${base}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { origin: ownOrigin, ...(type && { 'content-type': type }) },
      body,
    });
  for (const refused of [
    await send(new URLSearchParams(fields)),
    await send(form),
    await send(json),
    await send(Buffer.from(json)),
    await send(String(new URLSearchParams(fields)), 'application/x-www-form-urlencoded; application/json'),
    await send(json, 'application/vnd.api+json'),
  ]) {
    expect([refused.status, refused.headers.getSetCookie()]).toEqual([415, []]);
    expect(await refused.json()).toMatchObject({ success: false, error: { code: 'unsupported_media_type' } });
  }
  for (const type of ['application/json', 'application/json; charset=utf-8']) {
    expect(cookieOf(await send(json, type))).toMatch(/^atelier=/);
  }
});

test('ten wrong current passwords end the trying, on the page and in JSON', async () => {
  const person = await newPerson();
  const password = 'nine red boats at night';
  expect((await choose(person.cookie, { newPassword: password })).status).toBe(200);
  const wrong = { currentPassword: 'not the right one', newPassword: 'ten white boats at dawn' };
  const headers = { cookie: person.cookie, origin: ownOrigin };
  const onPage = (fields: Record<string, string>) => {
    const form = { ...headers, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' };
    return sendFrom('127.0.0.9', '/api/auth/password', form, String(new URLSearchParams(fields)));
  };
  const inJson = (fields: Record<string, string>, path = 'change-password') => {
    const json = { ...headers, 'content-type': 'application/json' };
    return sendFrom('127.0.0.9', `/api/auth/${path}`, json, JSON.stringify(fields));
  };
  const seen: unknown[] = [];
  for (let times = 0; times < 5; times++) seen.push((await onPage(wrong)).status, (await inJson(wrong)).status);
  expect(seen).toEqual(Array(10).fill(400));
  const right = { ...wrong, currentPassword: password };
  const refused = [await onPage(right), await inJson(right)];
  expect(refused.map(({ status }) => status)).toEqual([429, 429]);
  for (const { retryAfter } of refused) expect(Number(retryAfter)).toBeGreaterThan(0);
  // The second factor is changed on its page alone.
  const ofTwoFactor = ['enable', 'disable', 'get-totp-uri', 'generate-backup-codes'].map((one) => `two-factor/${one}`);
  const asked = await Promise.all(ofTwoFactor.map((path) => inJson({ password }, path)));
  expect(asked.map(({ status }) => status)).toEqual(Array(4).fill(404));
  expect(await isOpen(person.cookie)).toBe(true);
});
