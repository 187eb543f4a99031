import { existsSync } from 'node:fs';
import type { Browser, BrowserContext } from 'playwright-core';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { openProductDatabase } from '../../src/services.ts';
import type { Cleanup } from '../cleanup.ts';
import type { Stand } from '../stand.ts';

/** Where Debian's package `chromium` puts it. */
const chromiumPath = '/usr/bin/chromium';

/** @throws Error where the machine has no Chromium: its item is then reported as failed, and the others go on */
export async function openBrowser(cleanup: Cleanup): Promise<Browser> {
  if (!existsSync(chromiumPath)) {
    throw new Error(`This item needs Chromium: ${chromiumPath} is missing (Debian package chromium).`);
  }
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    // Its own sandbox does not work if everything runs as root. It visits only the product.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  cleanup.add(() => browser.close());
  return browser;
}

/** A window of a signed-in owner of the stand's organization. */
export async function signedIn(
  { databaseUrl, organizationId, api }: Pick<Stand, 'databaseUrl' | 'organizationId' | 'api'>,
  browser: Browser,
): Promise<BrowserContext> {
  const database = await openProductDatabase(databaseUrl, 2);
  try {
    const email = `owner-${Date.now()}@example.com`;
    const { token } = await invite(
      database,
      { organizationId, email, role: 'owner' },
      { actor: 'operator' },
      { times: accountTimes() },
    );
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.goto(`${api}/api/auth/invitations/${token}`);
    await page.getByRole('button', { name: 'Accept and sign in' }).click();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    await page.close();
    return context;
  } finally {
    await database.close();
  }
}
