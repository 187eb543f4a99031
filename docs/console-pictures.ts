import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Stack } from '../local/stack.ts';
import { apiClient } from '../test/api-client.ts';
import { chromiumArguments, chromiumPath } from '../test/machine/temporal-ui.ts';
import { until } from '../test/until.ts';

/** A workflow with branches and a question, so that its runs have something to show. */
const workflow = {
  name: 'Review an order',
  steps: [
    {
      id: 'check',
      type: 'parallel',
      branches: [
        { id: 'risk', steps: [{ id: 'score', type: 'prompt', prompt: 'Score the risk of {{input}}.' }] },
        { id: 'stock', steps: [{ id: 'pause', type: 'wait', for: 2 }] },
      ],
    },
    {
      id: 'ask',
      type: 'approval',
      message: 'Ship {{input}}?',
      form: {
        type: 'object',
        properties: { carrier: { type: 'string', enum: ['dhl', 'ups'] } },
        required: ['carrier'],
      },
    },
  ],
};

async function openConsole(browser: Browser, stack: Stack): Promise<{ page: Page; storage: object }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(stack.signInLink!);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  return { page, storage: await context.storageState() };
}

/** Takes the pictures of docs/console.md: in light and dark, and on a phone. */
export async function takeConsolePictures(stack: Stack, folder: string): Promise<void> {
  const client = apiClient(stack.api, stack.testKey);
  const { id } = (await client.post('/api/v1/workflows', workflow)).body.data;
  const { runId } = (await client.post(`/api/v1/workflows/${id}/execute`, { input: 'order 17', async: true })).body
    .data;
  await until('the run waits', async () => (await client.get(`/api/v1/runs/${runId}`)).body.data.waitingFor);
  const browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumArguments });
  try {
    const { storage } = await openConsole(browser, stack);
    const picture = async (name: string, path: string, options: object = {}) => {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 800 },
        storageState: storage as never,
        ...options,
      });
      const page = await context.newPage();
      await page.goto(`${stack.api}/app/${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await until('it has read what it shows', async () => (await page.locator('main [role=status]').count()) === 0);
      await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
      console.log(`docs/images/${name}.png`);
      await context.close();
    };
    await picture('console-run', `runs/${runId}`);
    await picture('console-run-dark', `runs/${runId}`, { colorScheme: 'dark' });
    await picture('console-editor', `workflows/${id}`);
    await picture('console-inbox-phone', 'inbox', { viewport: { width: 390, height: 844 } });
  } finally {
    await browser.close();
  }
}
