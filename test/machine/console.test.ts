import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findFreePort } from '../../local/ports.ts';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import type { Role } from '../../src/tenancy/core/roles.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import { until } from '../until.ts';
import { chromiumArguments, chromiumPath } from './temporal-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(240_000);

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The pages of the console. */
const paths = [
  'runs',
  'inbox',
  'workflows',
  'webhooks',
  'studio',
  'playground',
  'scheduling',
  'integrations',
  'secrets',
  'overview',
  'templates',
  'keys',
  'usage',
  'members',
  'members?tab=organization',
  'audit',
  'account',
];

let product: Product;
let origin: string;
let tenant: Tenant;
let api: ApiClient;
let browser: Browser;

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [`${root}web/build.ts`]);
  product = await openProduct();
  const port = String(await findFreePort());
  // The API accepts changes of a session from its own address alone.
  origin = `http://127.0.0.1:${port}`;
  await product.start(['api', 'runs', 'generation', 'calendars', 'integrations', 'webhooks'], {
    ...secrets,
    PORT: port,
    PUBLIC_URL: origin,
  });
  tenant = await product.createTenant();
  api = apiClient(origin, tenant.testKey);
  browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumArguments });
});
afterAll(async () => {
  await browser?.close();
  await product?.close();
});

let people = 0;

/** A window in which a person with a role has accepted an invitation, and what it refused or loaded from elsewhere. */
async function signIn(
  role: Role,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<{ context: BrowserContext; page: Page; faults: string[] }> {
  const email = `person-${++people}@example.com`;
  const { token } = await invite(
    product.database,
    { organizationId: organizationIds.parse(tenant.organizationId)!, email, role },
    { actor: 'operator' },
    { times: accountTimes() },
  );
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content.Security.Policy/.test(message.text())) faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) faults.push(request.url());
  });
  await page.goto(`${origin}/api/auth/invitations/${token}`);
  await page.getByRole('button', { name: 'Accept and sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  return { context, page, faults };
}

/** Opens a page and waits until it has read what it shows. */
async function open(page: Page, path: string): Promise<void> {
  await page.goto(`${origin}/app/${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await until('the page has read what it shows', async () => (await page.locator('main [role=status]').count()) === 0);
}

const approvalFlow = {
  name: 'Ship an order',
  steps: [
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
    { id: 'say', type: 'prompt', prompt: 'Say {{steps.ask.output.action}} by {{steps.ask.output.values.carrier}}.' },
  ],
};

/** Starts a run that waits for an answer. @returns its id */
async function waitingRun(input: string): Promise<string> {
  const workflow = (await api.post('/api/v1/workflows', approvalFlow)).body.data;
  const { runId } = (await api.post(`/api/v1/workflows/${workflow.id}/execute`, { input, async: true })).body.data;
  await until('the run waits', async () => (await api.get(`/api/v1/runs/${runId}`)).body.data.waitingFor);
  return runId;
}

test('an owner creates a workflow, edits it as JSON, runs it and reads its output', async () => {
  const { context, page, faults } = await signIn('owner');
  await open(page, 'workflows');
  await page.getByRole('button', { name: 'New workflow' }).click();
  await page.getByLabel('Name').fill('Greeting');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: 'Greeting' }).waitFor();

  await page.getByRole('button', { name: 'JSON' }).click();
  const editor = page.getByLabel('Definition');
  const text = await editor.inputValue();
  await editor.fill(text.replace('"prompt": "{{input}}"', '"prompt": 5'));
  await page.getByRole('list', { name: 'Problems' }).getByText('steps.0.prompt').waitFor();
  const line = text.split('\n').findIndex((row) => row.includes('"prompt": "{{input}}"')) + 1;
  await page.getByRole('button', { name: `Line ${line}`, exact: true }).waitFor();
  await editor.fill(text.replace('"prompt": "{{input}}"', '"prompt": "Greet {{input}}."'));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').first().waitFor();

  await page.getByRole('link', { name: 'Run', exact: true }).click();
  await page.getByLabel('Input').fill('Ada');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('heading', { name: 'Run of Greeting' }).waitFor();
  await page.getByRole('region', { name: 'Output', exact: true }).getByText('Greet Ada.').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('what is typed into the editor survives a reload of the page', async () => {
  const { id } = (await api.post('/api/v1/workflows', { ...approvalFlow, name: 'Draft' })).body.data;
  const { context, page } = await signIn('member');
  await open(page, `workflows/${id}`);
  await page.getByRole('list', { name: 'the workflow' }).getByLabel('Message').fill('Send {{input}}?');
  await page.reload();
  await page.getByRole('list', { name: 'the workflow' }).getByLabel('Message').waitFor();
  expect(await page.getByRole('list', { name: 'the workflow' }).getByLabel('Message').inputValue()).toBe(
    'Send {{input}}?',
  );
  await context.close();
});

test('with the keyboard alone a member answers an approval, and the run goes on', async () => {
  const runId = await waitingRun('order 17');
  const { context, page, faults } = await signIn('member');
  await open(page, 'inbox');
  await page.getByText('Ship order 17?').waitFor();
  await page.getByLabel('carrier').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Fine.');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing waits for an answer').waitFor();
  const run = await until('the run has ended', async () => {
    const { data } = (await api.get(`/api/v1/runs/${runId}`)).body;
    return data.status === 'COMPLETED' ? data : undefined;
  });
  expect(JSON.stringify(run.output)).toContain('approve by dhl');
  expect(faults).toEqual([]);
  await context.close();
});

test('a run that goes on is shown as it goes on', async () => {
  const runId = await waitingRun('order 18');
  const { context, page } = await signIn('owner');
  await open(page, `runs/${runId}`);
  await page.getByText('waits for an approval').waitFor();
  const { approvals } = (await api.get('/api/v1/approvals?status=pending')).body.data;
  const { id } = approvals.find((one: { runId: string }) => one.runId === runId);
  await api.post(`/api/v1/approvals/${id}/respond`, { action: 'approve', values: { carrier: 'ups' } });
  await page.getByRole('list', { name: 'Events' }).getByText('run.completed').waitFor();
  await page.getByRole('region', { name: 'Output', exact: true }).getByText('approve by ups').waitFor();
  await context.close();
});

test('secrets, webhooks, images, event types and chats are made on their pages', async () => {
  const { context, page, faults } = await signIn('owner');
  await open(page, 'secrets');
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByLabel('Name').fill('SHOP_TOKEN');
  await page.getByLabel('Value').fill('a-secret-value');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name: 'SHOP_TOKEN' }).waitFor();
  expect(await page.content()).not.toContain('a-secret-value');

  await open(page, 'webhooks');
  await page.getByRole('button', { name: 'New webhook' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Orders');
  await page.getByLabel('URL', { exact: true }).fill('https://hooks.example.com/orders');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page
    .getByRole('dialog')
    .getByText(/^whsec_/)
    .waitFor();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('link', { name: 'Orders' }).click();
  await page.getByRole('heading', { name: 'Health' }).waitFor();
  // What is behind a question shows the request too.
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const question = page.getByRole('dialog', { name: 'Delete Orders?' });
  await question.getByText('The same with curl and TypeScript').click();
  await question.getByText(/^curl -X DELETE .*\/api\/v1\/webhooks\//).waitFor();
  await question.getByRole('button', { name: 'Cancel' }).click();

  await open(page, 'studio?tab=image');
  await page.getByLabel('Prompt').fill('A lighthouse at dusk');
  await page.getByRole('button', { name: 'Generate' }).click();
  const picture = page.getByRole('img', { name: /lighthouse|generated image/i });
  await picture.waitFor();
  await until('the image is loaded', () =>
    picture.evaluate((image) => 'naturalWidth' in image && image.naturalWidth !== 0),
  );

  await open(page, 'scheduling?tab=event-types');
  await page.getByRole('button', { name: 'New event type' }).click();
  await page.getByLabel('Name').fill('Intro call');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name: 'Intro call' }).waitFor();

  await open(page, 'keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Shop');
  await page.getByRole('button', { name: 'Create the key' }).click();
  const shown = await page
    .getByRole('dialog')
    .getByText(/^sk_test_/)
    .textContent();
  expect((await apiClient(origin, shown!).get('/api/v1/health')).status).toBe(200);
  // What is shown once is not lost by a click beside it.
  await page.mouse.click(2, 2);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('row', { name: /Shop/ }).getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke the key' }).click();
  await page.getByRole('row', { name: /Shop.*revoked/ }).waitFor();
  expect((await apiClient(origin, shown!).get('/api/v1/health')).status).toBe(401);

  await open(page, 'templates');
  await page.getByRole('button', { name: 'Use' }).first().click();
  await page.getByRole('heading', { name: '1. ' }).or(page.getByText('1. Prompt')).first().waitFor();

  await open(page, 'playground');
  await page.getByRole('textbox', { name: 'Message' }).fill('Say hello.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('list', { name: 'Messages' }).getByText('Say hello.').nth(1).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

test('hostile names and outputs are text', async () => {
  const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;
  const workflow = { name: hostile.slice(0, 100), steps: [{ id: 'a', type: 'transform', expression: 'input' }] };
  const { id } = (await api.post('/api/v1/workflows', workflow)).body.data;
  const { runId } = (await api.post(`/api/v1/workflows/${id}/execute`, { input: hostile })).body.data;
  const { context, page, faults } = await signIn('owner');
  await open(page, `runs/${runId}`);
  await page.getByRole('region', { name: 'Output', exact: true }).getByText('<script>').waitFor();
  expect(await page.title()).not.toBe('taken');
  expect(await page.locator('main img').count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

test('a viewer reads every page, and nothing there writes', async () => {
  const runId = await waitingRun('order 19');
  const { context, page } = await signIn('viewer');
  const writing =
    /^(New|Create|Save|Delete|Cancel|Retry|Run|Generate|Connect|Send|Rotate|Answer|Approve|Reject|Replay|Invite|Speak|Transcribe)/;
  for (const path of [...paths.filter((one) => !['secrets', 'account'].includes(one)), `runs/${runId}`]) {
    await open(page, path);
    const names = await page.getByRole('main').getByRole('button').allTextContents();
    expect([path, names.filter((name) => writing.test(name))]).toEqual([path, []]);
  }
  expect(await page.getByRole('navigation', { name: 'Main' }).getByText('Secrets').count()).toBe(0);
  await context.close();
});

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test('no page has a serious finding of axe', async () => {
    await waitingRun('order 20');
    const { context, page } = await signIn('owner', { colorScheme, bypassCSP: true });
    const found: string[] = [];
    for (const path of paths) {
      await open(page, path);
      await page.addScriptTag({ content: axe.source });
      const { violations } = (await page.evaluate(() =>
        (globalThis as unknown as { axe: { run(): Promise<unknown> } }).axe.run(),
      )) as axe.AxeResults;
      for (const { id, impact, nodes } of violations) {
        if (impact === 'serious' || impact === 'critical') found.push(`${path}: ${id} ${nodes[0]?.html}`);
      }
    }
    expect(found).toEqual([]);
    await context.close();
  });
});

test('no page is wider than a phone', async () => {
  const { context, page } = await signIn('owner', { viewport: { width: 360, height: 740 } });
  for (const path of paths) {
    await open(page, path);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect([path, width]).toEqual([path, 360]);
  }
  await context.close();
});

test('a session that ends in one window is gone in the other', async () => {
  const { context, page } = await signIn('member');
  const other = await context.newPage();
  await open(other, 'workflows');
  await open(page, 'account');
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  await context.close();
});

test('a page that could not be read is there by itself when the service is again', async () => {
  const { context, page } = await signIn('member');
  await open(page, 'runs');
  const requests = '**/api/v1/workflows*';
  await page.route(requests, (route) => route.abort('connectionrefused'));
  await page.getByRole('link', { name: 'Workflows' }).click();
  await page.getByRole('alert').waitFor();
  await page.unroute(requests);
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await context.close();
});

test('files are immutable and small, pages are asked for again, and no other site may frame them', async () => {
  const page = await fetch(`${origin}/app/runs`);
  expect(page.headers.get('cache-control')).toBe('no-cache');
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(page.headers.get('content-security-policy')).not.toContain('unsafe');
  const html = await page.text();
  const files = [...html.matchAll(/"(\/app\/assets\/[^"]+\.(?:js|css))"/g)].map(([, file]) => file!);
  let bytes = 0;
  for (const file of files) {
    const answer = await fetch(`${origin}${file}`);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    bytes += gzipSync(await answer.text(), { level: 9 }).length;
  }
  expect(files.length).toBeGreaterThan(1);
  expect(bytes).toBeLessThan(250_000);
  expect((await fetch(`${origin}/app/assets/missing.js`)).status).toBe(404);
  expect((await fetch(`${origin}/app/no-such-page`)).status).toBe(200);
});

test('the overview and the usage show what was used, as charts and as tables', async () => {
  const steps = [{ id: 'say', type: 'prompt', prompt: '{{input}}' }];
  const { id } = (await api.post('/api/v1/workflows', { name: 'Counted work', steps })).body.data;
  for (const input of ['a', 'sandbox:fail']) await api.post(`/api/v1/workflows/${id}/execute`, { input });
  await until('the use is written down', async () => {
    const { groups } = (await api.get('/api/v1/usage?groupBy=workflow')).body.data;
    return groups.some((group: { group: string; failedRuns: number }) => group.group === id && group.failedRuns === 1);
  });
  const { context, page, faults } = await signIn('viewer');
  await open(page, 'overview?window=24h');
  for (const name of ['Runs', 'Credits', 'Deliveries', 'Failed runs by error']) {
    await page.getByRole('figure', { name, exact: true }).locator('canvas').waitFor();
  }
  const runs = page.getByRole('figure', { name: 'Runs', exact: true });
  await runs.getByText('The numbers of Runs as a table').click();
  expect(await runs.getByRole('table').locator('tbody tr').count()).toBe(24);
  expect(await runs.getByRole('table').locator('tbody tr').last().textContent()).toMatch(/[1-9]/);
  await page.getByRole('region', { name: 'Limits' }).getByRole('meter').first().waitFor();

  await open(page, 'usage');
  await page.getByLabel('Group by').selectOption('workflow');
  await page
    .getByRole('table', { name: 'Usage by group' })
    .getByRole('row', { name: /Counted work/ })
    .waitFor();
  await page.getByRole('figure', { name: 'Runs by workflow' }).locator('canvas').waitFor();
  expect(page.url()).toContain('groupBy=workflow');
  await page.getByRole('link', { name: 'Limits' }).click();
  await page.getByRole('row', { name: /^workflows [1-9]/ }).waitFor();

  await open(page, 'audit');
  await page.getByRole('table', { name: 'Audit log' }).waitFor();
  await page.getByLabel('From').fill('2090-01-02T03:04');
  await page.getByText('No entries').waitFor();
  expect(page.url()).toContain('from=2090-01-0');
  expect(faults).toEqual([]);
  await context.close();
});

test('a page of the version before goes on to work; where one of its files is gone it reloads once and keeps what was typed', async () => {
  const { id } = (await api.post('/api/v1/workflows', { ...approvalFlow, name: 'Upgraded' })).body.data;
  const { context, page } = await signIn('owner');
  await open(page, `workflows/${id}`);
  const message = page.getByRole('list', { name: 'the workflow' }).getByLabel('Message');
  await message.fill('Still here?');
  const link = (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name });
  const missing: string[] = [];
  let loads = 0;
  page.on('request', (request) => {
    if (request.isNavigationRequest()) loads++;
  });
  const remove = (name: string, isGone: () => boolean) =>
    context.route(`**/app/assets/${name}-*.js`, (route) => {
      if (!isGone()) return route.continue();
      missing.push(name);
      return route.fulfill({ status: 404, body: 'gone' });
    });
  // As after an upgrade: the page that is loaded again names files that are there.
  await remove('audit-log', () => loads === 0);
  // A page that needs no file that is gone is as before, also where the pointer passes what would need one.
  await link('Audit log').hover();
  await until('the file is looked for', async () => missing.includes('audit-log'));
  await link('Inbox').click();
  await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  await page.goBack();
  await message.waitFor();
  expect([loads, await message.inputValue()]).toEqual([0, 'Still here?']);

  await link('Audit log').click();
  await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
  expect([loads, new URL(page.url()).pathname]).toEqual([1, '/app/audit']);
  await page.goBack();
  await message.waitFor();
  expect(await message.inputValue()).toBe('Still here?');

  // A file that stays away is no reason to load the page again and again.
  await remove('secret-list', () => true);
  loads = 0;
  await link('Secrets').click();
  await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
  expect(loads).toBe(1);

  // The same holds for a part of a page: the chart.
  await remove('chart-canvas', () => loads === 1);
  await link('Overview').click();
  await page.getByRole('figure', { name: 'Runs', exact: true }).locator('canvas').waitFor();
  expect([loads, new URL(page.url()).pathname]).toEqual([2, '/app/overview']);
  await context.close();
});
