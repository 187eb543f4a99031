import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { createLink } from '../../src/accounts/links.ts';
import { resetSecondFactor } from '../../src/accounts/second-factor.ts';
import { sqlOn } from '../../src/platform/database/sql.ts';
import { whileHeld } from '../hold-lock.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { clientWith, cookieOf, ownOrigin, type Person, personWith, sendForm } from './people.ts';
import { totp } from './totp.ts';

let product: StartedProduct;
let base: string;

beforeAll(async () => {
  product = await sharedProduct();
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

/** As two minutes later. */
const forgetUsedCodes = () =>
  product.database.pool.query(`update auth."verification" set "expiresAt" = now() where "identifier" like 'code:%'`);

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
  expect(begun).toContain('A setup that begins later, in another window too, replaces this key and these codes');
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
  const code = totp(secret, 1);
  const entered = await sendCode(challenge, code, '?next=%2Fapp%2Finbox');
  expect([entered.status, entered.headers.get('location')]).toEqual([303, '/app/inbox']);
  expect(await isOpen(cookieOf(entered))).toBe(true);
  // A challenge is met once.
  const replayed = await sendCode(challenge, code);
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
  const used = totp(secret, 1);
  const entered = await sendCode(cookiesOf(byLink), used);
  expect(hasSession(entered)).toBe(true);
  for (const action of ['codes', 'off']) {
    expect((await act(cookie, { action })).status).toBe(400);
    expect((await act(cookie, { action, code: '000000' })).status).toBe(400);
  }
  expect(hasSession(await openLink(person))).toBe(false);
  const code = totp(secret);
  expect((await act(cookie, { action: 'off', code: used })).status).toBe(400);
  await forgetUsedCodes();
  expect((await act(cookie, { action: 'off', code })).status).toBe(200);
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
  for (let time = 0; time < 4; time++) expect((await sendCode(second, '000000')).status).toBe(401);
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

const inJson = (path: string, body: unknown, cookie: string) =>
  fetch(`${base}/api/auth/${path}`, {
    method: 'POST',
    headers: { cookie, origin: ownOrigin, 'content-type': 'application/json', ...nextAddress() },
    body: JSON.stringify(body),
  });

test('a code signs in once, however many sign-ins wait for one', async () => {
  const person = await newPerson();
  const { secret } = await setUp(person.cookie);
  const challenges = await Promise.all([1, 2, 3].map(async () => cookiesOf(await openLink(person))));
  const code = totp(secret, 1);
  const simultaneous = await Promise.all(challenges.slice(0, 2).map((one) => sendCode(one, code)));
  expect(simultaneous.filter(hasSession)).toHaveLength(1);
  expect(hasSession(await sendCode(challenges[2]!, code))).toBe(false);
  expect((await inJson('two-factor/verify-totp', { code }, challenges[2]!)).status).toBe(401);
});

test('codes of many sign-ins at once are no way around the count', async () => {
  const person = await newPerson();
  await setUp(person.cookie);
  const challenges = await Promise.all(Array.from({ length: 24 }, async () => cookiesOf(await openLink(person))));
  await Promise.all(challenges.map((one, at) => sendCode(one, String(100_000 + at))));
  const { rows } = await product.database.pool.query(
    'select "failedVerificationCount" as failed from auth."twoFactor" t join auth."user" u on u.id = t."userId" where u.email = $1',
    [person.email],
  );
  expect(rows[0].failed).toBeLessThanOrEqual(10);
});

test('with a stolen session codes are counted besides the page too', async () => {
  const person = await newPerson();
  const { cookie, secret } = await setUp(person.cookie);
  const statuses: number[] = [];
  for (let time = 0; time < 11; time++) {
    const path = time % 2 ? 'two-factor/verify-totp' : 'two-factor/verify-backup-code';
    statuses.push((await inJson(path, { code: String(100_000 + time) }, cookie)).status);
  }
  expect(statuses).toEqual([...Array(10).fill(401), 429]);
  expect((await inJson('two-factor/verify-totp', { code: totp(secret, 1) }, cookie)).status).toBe(429);
});

test('no device is trusted: every sign-in with the password asks for a code', async () => {
  const person = await newPerson();
  const password = 'seven blue boats at noon';
  await sendForm(`${base}/api/auth/password`, { newPassword: password }, { cookie: person.cookie });
  const { secret } = await setUp(person.cookie, password);
  const asked = await inJson('sign-in/email', { email: person.email, password }, '');
  const entered = await inJson(
    'two-factor/verify-totp',
    { code: totp(secret, 1), trustDevice: true },
    cookiesOf(asked),
  );
  expect(hasSession(entered)).toBe(true);
  const again = await inJson('sign-in/email', { email: person.email, password }, cookiesOf(entered));
  expect(hasSession(again)).toBe(false);
});

test('an operator turns off what a person has lost, and the sessions end', async () => {
  const person = await newPerson();
  const { cookie } = await setUp(person.cookie);
  expect(await resetSecondFactor(product.database, 'nobody@example.com', accountTimes())).toBe(false);
  expect(await resetSecondFactor(product.database, person.email, accountTimes())).toBe(true);
  expect(await isOpen(cookie)).toBe(false);
  expect(hasSession(await openLink(person))).toBe(true);
});

test('a change whose process ended between its two writes is completed', async () => {
  const person = await newPerson();
  const { secret, cookie } = await setUp(person.cookie);
  const ofPerson = '(select id from auth."user" where email = $1)';
  const { pool } = product.database;
  // Turned on, and not yet confirmed: a sign-in on the page, and one in JSON.
  const inJsonToo = (challenge: string, code: string) => inJson('two-factor/verify-totp', { code }, challenge);
  for (const send of [sendCode, inJsonToo]) {
    await pool.query(`update auth."twoFactor" set verified = false where "userId" = ${ofPerson}`, [person.email]);
    await forgetUsedCodes();
    expect(hasSession(await send(cookiesOf(await openLink(person)), totp(secret, 1)))).toBe(true);
  }
  // Turned off, and not yet removed: its key confirms nothing any more.
  await pool.query('update auth."user" set "twoFactorEnabled" = false where email = $1', [person.email]);
  await forgetUsedCodes();
  expect((await act(cookie, { action: 'confirm', code: totp(secret, 1) })).status).toBe(400);
  const anew = await setUp(cookie);
  expect(anew.secret).not.toBe(secret);
  expect(hasSession(await sendCode(cookiesOf(await openLink(person)), totp(anew.secret, 1)))).toBe(true);
});

test.each(['the page', 'JSON'])('turning it on with %s ends the other sessions', async (way) => {
  const person = await newPerson();
  const other = cookieOf(await openLink(person));
  const html = await (await act(person.cookie, { action: 'begin' })).text();
  const secret = secretOf(html);
  expect([await isOpen(person.cookie), await isOpen(other)]).toEqual([true, true]);
  const code = totp(secret);
  const confirmed = await (way === 'JSON'
    ? inJson('two-factor/verify-totp', { code }, person.cookie)
    : act(person.cookie, { action: 'confirm', code }));
  const cookie = cookieOf(confirmed);
  expect([await isOpen(cookie), await isOpen(other)]).toEqual([true, false]);
  // A sign-in with a code is none that turns it on.
  const entered = await sendCode(cookiesOf(await openLink(person)), totp(secret, 1));
  expect([await isOpen(cookie), await isOpen(cookieOf(entered))]).toEqual([true, true]);
  // Nor is a code of a session.
  const [backup] = codesOf(html);
  expect((await inJson('two-factor/verify-backup-code', { code: backup }, cookie)).status).toBe(200);
  expect([await isOpen(cookie), await isOpen(cookieOf(entered))]).toEqual([true, true]);
});

test('what changes a second factor is not served besides the page', async () => {
  const { cookie } = await newPerson();
  for (const path of ['enable', 'disable', 'get-totp-uri', 'generate-backup-codes']) {
    const headers = { cookie, origin: ownOrigin, 'content-type': 'application/json' };
    const answer = await fetch(`${base}/api/auth/two-factor/${path}`, { method: 'POST', headers, body: '{}' });
    expect([path, answer.status]).toEqual([path, 404]);
  }
});

describe('a change of the factor that meets another one', () => {
  /** Another process than that of `base`: it waits for 50 ms where others wait for seconds. */
  let impatient: string;
  beforeAll(async () => {
    const env = { ADDRESS_RATE_MAX: '0', ACCOUNTS_TIME_SCALE: '0.01' };
    impatient = (await product.serve(env)).api;
  });

  /** Holds a change of the person open, at the statement that writes that the factor is on or off. */
  const whileWritesWait = <Result>({ email }: Person, work: (areAwaited: () => Promise<unknown>) => Promise<Result>) =>
    whileHeld(product, `select from auth."user" where email = '${email}' for update`, (holder) => {
      // When a session was used last is written to the same row after an answer: a change has its lease, too.
      const waiting = `select 1 from pg_stat_activity where datname = current_database() and pg_backend_pid() = any(pg_blocking_pids(pid))
        and exists (select from auth."verification" where "identifier" like 'second-factor:%' and "expiresAt" > clock_timestamp())`;
      const isAwaited = async () => {
        await holder.query('select pg_stat_clear_snapshot()');
        return (await holder.query(waiting)).rowCount;
      };
      return work(() => until('a change waits for the row', isAwaited));
    });
  const newSessionOf = async (person: Person) => cookieOf(await openLink(person));
  const begun = async (cookie: string) => secretOf(await (await act(cookie, { action: 'begin' })).text());
  /** Whether this code signs the person in who opens a link; undefined where none is asked for. */
  async function takes(person: Person, code: string) {
    const byLink = await openLink(person);
    return hasSession(byLink) ? undefined : hasSession(await sendCode(cookiesOf(byLink), code));
  }

  test.each(['the page', 'JSON'])('confirms on %s the secret that is stored, however many begin anew', async (way) => {
    // Begins anew with another person where a machine was so busy that those who wait were refused before their turn, or that
    // PostgreSQL ended the change.
    const { person, secret, elsewhere, refused, waited } = await until('ten wait for their turn', async () => {
      const one = await newPerson();
      const stored = await begun(one.cookie);
      const code = totp(stored);
      const answered: number[] = [];
      const meeting = await whileWritesWait(one, async (areAwaited) => {
        const confirmation =
          way === 'JSON'
            ? inJson('two-factor/verify-totp', { code }, one.cookie)
            : act(one.cookie, { action: 'confirm', code });
        await areAwaited();
        const begins = Array.from({ length: 12 }, async () => {
          const answer = await act(one.cookie, { action: 'begin' });
          answered.push(answer.status);
          return { status: answer.status, html: await answer.text() };
        });
        const other = await sendForm(
          `${impatient}/api/auth/second-factor`,
          { action: 'begin' },
          { cookie: one.cookie, ...nextAddress() },
        );
        await until('two are refused', async () => answered.length >= 2);
        return { confirmed: confirmation, begins, elsewhere: other, refused: [...answered] };
      });
      const answers = (await Promise.all(meeting.begins)).filter(({ status }) => status !== 409);
      const isInTime = (await meeting.confirmed).status === 200 && answers.length === 10;
      return isInTime && { ...meeting, person: one, secret: stored, waited: answers };
    });
    expect(elsewhere.status).toBe(409);
    expect(await elsewhere.text()).toContain('The second factor is being changed in another window.');
    // Ten wait, and the others are refused.
    expect(refused).toEqual([409, 409]);
    for (const { status, html } of waited) {
      expect(status).toBe(200);
      expect(html).not.toContain('otpauth:');
    }
    expect(await takes(person, totp(secret, 1))).toBe(true);
  });

  test('an operator who turns it off waits for the change that is under way', async () => {
    const { database } = product;
    // Begins anew with another person where a machine was so busy that PostgreSQL ended the change, which waits.
    for (let isDone = false; !isDone; ) {
      const person = await newPerson();
      const { secret, cookie } = await setUp(person.cookie);
      const { off, refused, reset } = await whileWritesWait(person, async (areAwaited) => {
        const turningOff = act(cookie, { action: 'off', code: totp(secret, 1) });
        await areAwaited();
        const error = await resetSecondFactor(database, person.email, accountTimes(0.01)).catch((one) => one);
        return { off: turningOff, refused: error, reset: resetSecondFactor(database, person.email, accountTimes()) };
      });
      isDone = (await off).status === 200;
      if (!isDone) {
        await reset.catch(() => {});
        continue;
      }
      expect(refused).toMatchObject({ message: expect.stringContaining('in another window') });
      expect(await reset).toBe(true);
      expect(await takes(person, '')).toBeUndefined();
      const again = await newSessionOf(person);
      expect(await takes(person, totp((await setUp(again)).secret, 1))).toBe(true);
    }
  });

  test('of two windows that set it up at the same moment the newest can be confirmed', async () => {
    const person = await newPerson();
    const setUps = await Promise.all([begun(person.cookie), begun(person.cookie)]);
    const confirmed = await Promise.all(
      setUps.map(async (secret) => (await act(person.cookie, { action: 'confirm', code: totp(secret) })).status),
    );
    const right = confirmed.indexOf(200);
    // The other one came before, with a wrong code, or after.
    expect([400, 409]).toContain(confirmed[1 - right]);
    expect(await takes(person, totp(setUps[right]!, 1))).toBe(true);
    expect(await takes(person, totp(setUps[1 - right]!, 1))).toBe(false);
  });
});
