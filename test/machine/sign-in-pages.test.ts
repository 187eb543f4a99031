import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findFreePort } from '../../local/ports.ts';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type OidcProvider, startOidcProvider } from '../fakes/oidc-provider.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { chromiumArguments, chromiumPath } from './temporal-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(240_000);

let product: Product;
let provider: OidcProvider;
let origin: string;
let browser: Browser;

beforeAll(async () => {
  product = await openProduct();
  provider = await startOidcProvider();
  const port = String(await findFreePort());
  origin = `http://localhost:${port}`;
  const oidc = {
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: provider.clientId,
    OIDC_CLIENT_SECRET: provider.clientSecret,
  };
  await product.start(['api'], { ...secrets, ...oidc, PORT: port, PUBLIC_URL: origin });
  browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumArguments });
});
afterAll(async () => {
  await browser?.close();
  await provider?.close();
  await product?.close();
});

async function findings(page: Page): Promise<string[]> {
  await page.addScriptTag({ content: axe.source });
  const { violations } = (await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<unknown> } }).axe.run(),
  )) as axe.AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${page.url()}: ${id} ${nodes[0]?.html}`);
}

test('the pages on which people sign in have no serious finding of axe and fit a phone, without script too', async () => {
  const { organizationId } = await product.createTenant();
  const { token } = await invite(
    product.database,
    { organizationId: organizationIds.parse(organizationId)!, email: 'ada@example.com', role: 'member' },
    { actor: 'operator' },
    { times: accountTimes() },
  );
  const context = await browser.newContext({ viewport: { width: 390, height: 844 }, bypassCSP: true });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const found: string[] = [];
  const look = async () => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    found.push(...(await findings(page)));
    expect([page.url(), await page.evaluate('document.documentElement.scrollWidth')]).toEqual([page.url(), 390]);
  };
  await page.goto(`${origin}/api/auth/sign-in?next=%2Fapp%2Fruns`);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
  await page.getByRole('link', { name: /^Sign in with 127/ }).waitFor();
  await look();
  await page.goto(`${origin}/api/auth/invitations/${token}`);
  await look();
  await page.getByRole('button', { name: 'Accept and sign in' }).click();
  // The console goes on to its first page by itself, maybe before this looks.
  await page.waitForURL(`${origin}/app**`);
  for (const path of ['password', 'passkeys', 'second-factor']) {
    await page.goto(`${origin}/api/auth/${path}`);
    await look();
  }
  await page.getByRole('button', { name: 'Set up a second factor' }).click();
  await page.getByLabel('Code that the app shows').waitFor();
  await look();
  expect(found).toEqual([]);
  await context.close();

  const plain = await browser.newContext({ javaScriptEnabled: false });
  const quiet = await plain.newPage();
  await quiet.goto(`${origin}/api/auth/sign-in`);
  expect(await quiet.getByRole('button').allTextContents()).toEqual(['Sign in', 'Mail me a link']);
  await plain.close();
});
