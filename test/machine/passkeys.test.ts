import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { findFreePort } from '../../local/ports.ts';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import { chromiumArguments, chromiumPath } from './temporal-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(240_000);

let product: Product;
let origin: string;
let tenant: Tenant;
let browser: Browser;

beforeAll(async () => {
  product = await openProduct();
  const port = String(await findFreePort());
  // Browsers make passkeys for names, and take this one for a secure place.
  origin = `http://localhost:${port}`;
  await product.start(['api'], { ...secrets, PORT: port, PUBLIC_URL: origin, ADDRESS_RATE_MAX: '0' });
  tenant = await product.createTenant();
  browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumArguments });
});
afterAll(async () => {
  await browser?.close();
  await product?.close();
});

let people = 0;

/** A window with an authenticator, in which a person has accepted an invitation. */
async function openWindow({ isVerified = true } = {}) {
  const invited = {
    organizationId: organizationIds.parse(tenant.organizationId)!,
    email: `person-${++people}@example.com`,
    role: 'member',
  } as const;
  const { token } = await invite(product.database, invited, { actor: 'operator' }, { times: accountTimes() });
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (/Content.Security.Policy/.test(message.text())) faults.push(message.text());
  });
  const devtools = await context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: isVerified,
      isUserVerified: isVerified,
      automaticPresenceSimulation: true,
    },
  });
  await page.goto(`${origin}/api/auth/invitations/${token}`);
  await page.getByRole('button', { name: 'Accept and sign in' }).click();
  // The console goes on to its first page by itself, maybe before this looks.
  await page.waitForURL(`${origin}/app**`);
  return { context, page, devtools, authenticatorId, faults, email: invited.email };
}

const add = async (page: Page, name: string) => {
  await page.goto(`${origin}/api/auth/passkeys`);
  await page.getByLabel('Name of the new passkey').fill(name);
  await page.getByRole('button', { name: 'Add a passkey' }).click();
};
const emailIn = async (page: Page): Promise<string | undefined> => {
  const answer = await page.request.get(`${origin}/api/v1/account`);
  return answer.ok() ? (await answer.json()).data.user.email : undefined;
};
const credentialsOf = async (devtools: CDPSession, authenticatorId: string) =>
  (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials;

test('a person adds a passkey, signs in with it alone, and removes it', async () => {
  const { context, page, devtools, authenticatorId, faults, email } = await openWindow();
  await add(page, 'My <b>laptop</b>');
  await page.getByRole('listitem').getByText('My <b>laptop</b>').waitFor();
  const [credential] = await credentialsOf(devtools, authenticatorId);
  expect(credential).toMatchObject({ isResidentCredential: true, rpId: 'localhost' });

  await context.clearCookies();
  expect(await emailIn(page)).toBeUndefined();
  await page.goto(`${origin}/api/auth/sign-in?next=${encodeURIComponent('/api/auth/passkeys')}`);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('heading', { name: 'Your passkeys' }).waitFor();
  expect(await emailIn(page)).toBe(email);

  await page.getByRole('button', { name: 'Remove My <b>laptop</b>' }).click();
  await page.getByText('You have none.').waitFor();
  await context.clearCookies();
  await page.goto(`${origin}/api/auth/sign-in`);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('alert').getByText(/.+/).waitFor();
  expect(await emailIn(page)).toBeUndefined();
  expect(faults).toEqual([]);
  await context.close();
});

test('an authenticator that does not ask who is there makes no passkey', async () => {
  const { context, page, devtools, authenticatorId } = await openWindow({ isVerified: false });
  await add(page, 'Found on the street');
  await page.getByRole('alert').getByText(/.+/).waitFor();
  expect(await credentialsOf(devtools, authenticatorId)).toEqual([]);

  // A page that asks for less is refused by the server.
  await page.goto(`${origin}/api/auth/passkeys`);
  const status = await page.evaluate(`(async () => {
    const options = await (await fetch('/api/auth/passkey/generate-register-options')).json();
    options.authenticatorSelection = { residentKey: 'discouraged', userVerification: 'discouraged' };
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    const credential = await navigator.credentials.create({ publicKey });
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ response: credential.toJSON() });
    return (await fetch('/api/auth/passkey/verify-registration', { method: 'POST', headers, body })).status;
  })()`);
  expect(status).toBe(400);
  await page.reload();
  await page.getByText('You have none.').waitFor();
  await context.close();
});

test('the passkey of another person cannot be removed', async () => {
  const [owner, other] = [await openWindow(), await openWindow()];
  await add(owner.page, 'Mine');
  await owner.page.getByRole('listitem').getByText('Mine').waitFor();
  const action = await owner.page.locator('form[action$="/remove"]').getAttribute('action');
  const headers = { origin };
  const removed = await other.page.request.post(`${origin}${action}`, { headers, form: {}, maxRedirects: 0 });
  expect(removed.status()).toBe(303);
  const foreign = await owner.page.request.post(`${origin}${action}`, {
    headers: { origin: 'https://evil.example' },
    form: {},
    maxRedirects: 0,
  });
  expect(foreign.status()).toBe(403);
  await owner.page.reload();
  await owner.page.getByRole('listitem').getByText('Mine').waitFor();
  await Promise.all([owner.context.close(), other.context.close()]);
});
