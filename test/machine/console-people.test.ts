import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findFreePort } from '../../local/ports.ts';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import type { Role } from '../../src/tenancy/core/roles.ts';
import { totp } from '../accounts/totp.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type OidcProvider, startOidcProvider } from '../fakes/oidc-provider.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { until } from '../until.ts';
import { chromiumArguments, chromiumPath } from './temporal-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(240_000);

const root = fileURLToPath(new URL('../../', import.meta.url));

let product: Product;
let provider: OidcProvider;
let origin: string;
let tenant: Tenant;
let api: ApiClient;
let browser: Browser;

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [`${root}web/build.ts`]);
  product = await openProduct();
  provider = await startOidcProvider();
  const port = String(await findFreePort());
  origin = `http://127.0.0.1:${port}`;
  await product.start(['api', 'runs', 'generation', 'webhooks'], {
    ...secrets,
    PORT: port,
    PUBLIC_URL: origin,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: provider.clientId,
    OIDC_CLIENT_SECRET: provider.clientSecret,
    ADDRESS_RATE_MAX: '0',
  });
  tenant = await product.createTenant({ plan: 'enterprise' });
  api = apiClient(origin, tenant.testKey);
  browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumArguments });
});
afterAll(async () => {
  await browser?.close();
  await provider?.close();
  await product?.close();
});

let people = 0;
const inviteNext = (role: Role) =>
  invite(
    product.database,
    {
      organizationId: organizationIds.parse(tenant.organizationId)!,
      email: `person-${++people}@example.com`,
      role,
    },
    { actor: 'operator' },
    { times: accountTimes() },
  );

/** The browser of a person who has accepted an invitation. */
async function signIn(role: Role) {
  const { token, email } = await inviteNext(role);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(`${origin}/api/auth/invitations/${token}`);
  await page.getByRole('button', { name: 'Accept and sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  return { context, page, email };
}

async function open(page: Page, path: string): Promise<void> {
  await page.goto(`${origin}/app/${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
}

async function waitingRun(): Promise<string> {
  const steps = [{ id: 'ask', type: 'approval', message: 'Ship {{input}}?' }];
  const { id } = (await api.post('/api/v1/workflows', { name: 'Ship', steps })).body.data;
  const { runId } = (await api.post(`/api/v1/workflows/${id}/execute`, { input: 'it', async: true })).body.data;
  await until('the run waits', async () => (await api.get(`/api/v1/runs/${runId}`)).body.data.waitingFor);
  return runId;
}

test('of two people one answers, and the other sees it without touching anything', async () => {
  const runId = await waitingRun();
  const [one, other] = [await signIn('member'), await signIn('viewer')];
  await open(other.page, `runs/${runId}`);
  await other.page.getByText('waits for an approval').waitFor();
  const inbox = await other.context.newPage();
  await open(inbox, 'inbox');
  await inbox.getByText('Ship it?').waitFor();
  await open(one.page, 'inbox');
  await one.page
    .getByRole('button', { name: /approve/i })
    .first()
    .click();
  await other.page.getByRole('list', { name: 'Events' }).getByText('run.completed').waitFor();
  await inbox.getByText('Nothing waits for an answer').waitFor();
  await Promise.all([one.context.close(), other.context.close()]);
});

test('a session that ends in one window is gone in the other within a second', async () => {
  const { context, page } = await signIn('member');
  const other = await context.newPage();
  await open(other, 'workflows?status=draft');
  await open(page, 'account');
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  const isAway = other.waitForURL(/\/api\/auth\/sign-in/, { waitUntil: 'commit' });
  const answered = page.waitForResponse(/\/account\/sessions\/revoke/);
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
  await answered;
  const endedAt = performance.now();
  await isAway;
  expect(performance.now() - endedAt).toBeLessThan(10_000);
  expect(new URL(other.url()).searchParams.get('next')).toBe('/app/workflows?status=draft');
  expect((await other.request.get(`${origin}/api/v1/account`)).status()).toBe(401);
  // Chromium may never close a page whose navigation is being committed.
  for (const window of [page, other]) await window.getByRole('heading', { name: 'Sign in' }).waitFor();
  await context.close();
});

test('who is removed in another browser is signed out where they look on, and comes back nowhere', async () => {
  const runId = await waitingRun();
  const [owner, member] = [await signIn('owner'), await signIn('member')];
  await open(member.page, `runs/${runId}`);
  await member.page.getByText('waits for an approval').waitFor();
  await open(owner.page, 'members');
  const row = owner.page.getByRole('row', { name: new RegExp(member.email) });
  await row.getByRole('button', { name: 'Remove' }).click();
  await owner.page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await row.waitFor({ state: 'detached' });
  await member.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(new URL(member.page.url()).searchParams.get('next')).toBe(`/app/runs/${runId}`);
  await member.page.goto(`${origin}/app/runs`);
  await member.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await Promise.all([owner.context.close(), member.context.close()]);
});

test('a person at the provider signs in, sets a second factor up, and needs its code the next time', async () => {
  const { email } = await inviteNext('member');
  provider.person = { sub: 'browser', email, email_verified: true, name: 'Grace' };
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const enter = async () => {
    await page.goto(`${origin}/app/account`);
    await page.getByRole('link', { name: `Sign in with ${new URL(provider.issuer).host}` }).click();
  };
  await enter();
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  await page.getByRole('link', { name: 'Second factor' }).click();
  await page.getByRole('button', { name: 'Set up a second factor' }).click();
  const secret = await page.locator('p > code').first().textContent();
  await page.getByLabel('Code that the app shows').fill(totp(secret!));
  await page.getByRole('button', { name: 'Turn it on' }).click();
  await page.getByText('The second factor is on.').waitFor();

  await context.clearCookies();
  await enter();
  // The code of before has been used.
  await page.getByLabel('Code of your authenticator, or a backup code').fill(totp(secret!, 1));
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  expect(page.url()).toBe(`${origin}/app/account`);

  // The identity is unlinked once there is another way to sign in.
  const identities = page.getByRole('region', { name: 'Identities' });
  const unlink = async () => {
    await identities.getByRole('button', { name: 'Unlink' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
  };
  await unlink();
  await page.getByRole('dialog').getByText('Set a password or add a passkey first.').waitFor();
  await page.goto(`${origin}/api/auth/password`);
  await page.getByLabel('New password').fill('a very long password');
  await page.getByRole('button', { name: /password/ }).click();
  await page.getByText(/password is (set|changed)|now sign in/i).waitFor();
  await open(page, 'account');
  await unlink();
  await identities.waitFor({ state: 'detached' });
  await context.close();
});

test('Ctrl-K finds by name and by id, and opens what was found', async () => {
  const steps = [{ id: 'ask', type: 'approval', message: 'Count {{input}}?' }];
  const { id } = (await api.post('/api/v1/workflows', { name: 'Sturgeon count', steps })).body.data;
  const scene = sceneOf(api);
  const { id: eventTypeId } = await scene.offer({ name: 'Sturgeon talk' });
  const generation = (await api.post('/api/studio/generate', { prompt: 'A sturgeon' })).body.data.id;
  const attendee = { name: 'Ada', email: 'ada.sturgeon@example.com' };
  expect((await scene.book(eventTypeId, '2052-03-01T10:00:00Z', { attendee })).status).toBe(201);
  const hook = { name: 'Sturgeon hook', url: 'https://hooks.example.com/sturgeon', events: ['workflow.run.completed'] };
  const webhookId = (await api.post('/api/v1/webhooks', hook)).body.data.id;
  const { deliveryId } = (await api.post(`/api/v1/webhooks/${webhookId}/test`)).body.data;
  const { context, page } = await signIn('member');
  await open(page, 'keys');
  const search = async (text: string) => {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Search' }).getByRole('searchbox').fill(text);
    return page.getByRole('dialog', { name: 'Search' }).getByRole('list', { name: 'Results' });
  };
  const found = await search('sturgeon');
  await found.getByRole('button', { name: /^event type Sturgeon talk/ }).waitFor();
  await found.getByRole('button', { name: /^workflow Sturgeon count/ }).press('Enter');
  await page.getByRole('heading', { name: 'Sturgeon count' }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/app/workflows/${id}`);
  await (await search(generation)).getByRole('button', { name: /^generation A sturgeon/ }).waitFor();
  await page.keyboard.press('Enter');
  const dialog = (name: string) => page.getByRole('dialog', { name, exact: true });
  await dialog('Generation').getByRole('img', { name: 'A sturgeon' }).waitFor();
  await page.keyboard.press('Escape');
  await (await search(eventTypeId)).getByRole('button', { name: /^event type/ }).click();
  const named = dialog('Event type').getByLabel('Name');
  await named.waitFor();
  expect(await named.inputValue()).toBe('Sturgeon talk');
  await page.keyboard.press('Escape');
  await (await search(deliveryId)).getByRole('button', { name: /^delivery test\.webhook/ }).click();
  await dialog('Delivery').getByRole('table', { name: 'Attempts' }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/app/webhooks/${webhookId}`);
  // The address opens it again, and no longer once it was closed.
  await page.reload();
  // With what it has read: a dialog that is not drawn to the end may not listen to the keyboard yet.
  await dialog('Delivery').getByRole('table', { name: 'Attempts' }).waitFor();
  await page.keyboard.press('Escape');
  await dialog('Delivery').waitFor({ state: 'detached' });
  await until('the address names no delivery', async () => !new URL(page.url()).searchParams.has('delivery'));
  await (await search('ada.sturgeon@example.com')).getByRole('button', { name: /^booking Ada/ }).click();
  await dialog('Booking').getByText('ada.sturgeon@example.com').waitFor();
  await page.keyboard.press('Escape');
  await dialog('Booking').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /Ada$/ }).waitFor();
  const nothing = await search('no such thing at all');
  await page.getByText('Nothing was found.').waitFor();
  expect(await nothing.getByRole('button').count()).toBe(0);
  await context.close();
});
