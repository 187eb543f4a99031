import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BrowserContext, Page } from 'playwright-core';
import type { Cleanup } from '../cleanup.ts';
import { insertRuns } from '../insert-runs.ts';
import type { Item } from '../item.ts';
import type { Stand } from '../stand.ts';
import { openBrowser, signedIn } from './browser.ts';
import { createWorkflowOfSteps } from './workflow-of-steps.ts';

const runs = 1_000_000;
const rounds = 7;

async function openConsole(stand: Stand, cleanup: Cleanup): Promise<BrowserContext> {
  await promisify(execFile)(process.execPath, [fileURLToPath(new URL('../../web/build.ts', import.meta.url))]);
  return signedIn(stand, await openBrowser(cleanup));
}

/** A window without anything in its cache. */
async function emptyWindow(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Network.clearBrowserCache');
  return page;
}

/** P40: how long a person waits for the console who opens it for the first time. */
export const consoleItem: Item = {
  name: 'P40',
  title: 'the console on loopback with an empty cache, navigation to interactive',
  needs: 'stand',
  async run(stand, cleanup) {
    const context = await openConsole(stand, cleanup);
    const values: number[] = [];
    // The first one is the warm-up.
    for (let round = 0; round <= rounds; round++) {
      const page = await emptyWindow(context);
      const began = performance.now();
      await page.goto(`${stand.api}/app/runs`, { waitUntil: 'commit' });
      await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
      await page.locator('main [role=status]').first().waitFor({ state: 'detached' });
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog', { name: 'Search' }).waitFor();
      if (round > 0) values.push((performance.now() - began) / 1_000);
      await page.close();
    }
    await context.close();
    return [
      {
        rows: [{ name: 'navigation to the open search', unit: 's', values }],
        verdicts: [{ name: 'interactive, s', values, aim: { atMost: 1 } }],
      },
    ];
  },
};

interface Shown {
  /** By the clock of the page. */
  answered: number;
  asked: number;
  shown: number;
}

/** Notes when the first row of the list was drawn. */
const watchRows = `
  new MutationObserver((_, observer) => {
    if (!document.querySelector('main table tbody tr')) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { globalThis.rowsShownAt = performance.now(); }));
  }).observe(document, { childList: true, subtree: true });`;

const readTimes = `(async () => {
  while (globalThis.rowsShownAt === undefined) await new Promise((resolve) => requestAnimationFrame(resolve));
  const asked = performance.getEntriesByType('resource').find(({ name }) => /\\/api\\/v1\\/runs\\?/.test(name));
  return { asked: asked.startTime, answered: asked.responseEnd, shown: globalThis.rowsShownAt };
})()`;

/** P41: what the page of runs adds to the API's answer where there are many. */
export const runsPageItem: Item = {
  name: 'P41',
  title: 'the runs page of the console at 1,000,000 runs, the answer of the API to the first rows',
  needs: 'stand',
  async run(stand, cleanup) {
    const context = await openConsole(stand, cleanup);
    await insertRuns(stand, await createWorkflowOfSteps(stand, 1), runs);
    await context.addInitScript(watchRows);
    const times: Shown[] = [];
    for (let round = 0; round <= rounds; round++) {
      const page = await context.newPage();
      await page.goto(`${stand.api}/app/runs`, { waitUntil: 'commit' });
      await page.locator('main table tbody tr').first().waitFor();
      if (round > 0) times.push((await page.evaluate(readTimes)) as Shown);
      await page.close();
    }
    await context.close();
    const added = times.map(({ answered, shown }) => Math.max(0, shown - answered));
    return [
      {
        rows: [
          { name: 'the answer of the API', unit: 'ms', values: times.map(({ asked, answered }) => answered - asked) },
          { name: 'from it to the first rows', unit: 'ms', values: added },
        ],
        verdicts: [{ name: 'first rows after the answer, ms', values: added, aim: { atMost: 300 } }],
      },
    ];
  },
};
