import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { findFreePort } from '../../local/ports.ts';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import { until } from '../until.ts';
import { chromiumArguments, chromiumPath } from './temporal-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(240_000);

const root = fileURLToPath(new URL('../../', import.meta.url));

let product: Product;
let origin: string;
let tenant: Tenant;
let api: ApiClient;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [`${root}web/build.ts`]);
  product = await openProduct();
  const port = String(await findFreePort());
  origin = `http://127.0.0.1:${port}`;
  await product.start(['api', 'runs', 'generation', 'calendars', 'webhooks'], {
    ...secrets,
    PORT: port,
    PUBLIC_URL: origin,
  });
  tenant = await product.createTenant();
  api = apiClient(origin, tenant.testKey);
  const media = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];
  browser = await chromium.launch({ executablePath: chromiumPath, args: [...chromiumArguments, ...media] });
  const { token } = await invite(
    product.database,
    { organizationId: organizationIds.parse(tenant.organizationId)!, email: 'owner@example.com', role: 'owner' },
    { actor: 'operator' },
    { times: accountTimes() },
  );
  context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(`${origin}/api/auth/invitations/${token}`);
  await page.getByRole('button', { name: 'Accept and sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await product?.close();
});

afterEach(() => page.unrouteAll());

async function open(path: string): Promise<void> {
  await page.goto(`${origin}/app/${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
}

async function newWorkflow(name: string, steps: object[], more: object = {}): Promise<string> {
  const { status, body } = await api.post('/api/v1/workflows', { name, steps, ...more });
  expect({ status, body }).toMatchObject({ status: 201 });
  return body.data.id;
}
const prompt = (text: string) => [{ id: 'say', type: 'prompt', prompt: text }];

/** Leads to the first hit of a search, from one page to another without a reload. */
async function goBySearch(text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  const dialog = page.getByRole('dialog', { name: 'Search' });
  await dialog.getByRole('searchbox').fill(text);
  await dialog.getByRole('list', { name: 'Results' }).getByRole('button').first().waitFor();
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
}

/** Comes back to the window until the page has read an address again, whatever the answer. */
async function comeBack(path: string): Promise<void> {
  let isRead = false;
  const onAnswer = (request: { url(): string }) => {
    isRead ||= request.url().includes(path);
  };
  page.on('requestfinished', onAnswer);
  page.on('requestfailed', onAnswer);
  await until('the page has read it again', async () => {
    await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`);
    return isRead;
  });
  page.off('requestfinished', onAnswer);
  page.off('requestfailed', onAnswer);
}

const value = (field: Locator) => field.inputValue();

test('what is typed stays while the page reads again what it shows, and while the service cannot be reached', async () => {
  const id = await newWorkflow('Typed', prompt('{{input}}'));
  await open(`workflows/${id}?tab=triggers`);
  await page.getByRole('button', { name: 'Add a trigger' }).click();
  await page.getByLabel('Event', { exact: true }).fill('order.created');
  await comeBack('/triggers');
  expect(await value(page.getByLabel('Event', { exact: true }))).toBe('order.created');
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Half of a na');
  await page.route('**/api/v1/**', (route) => route.abort('connectionrefused'));
  await comeBack('/api/v1/account');
  await comeBack(`/api/v1/workflows/${id}`);
  await page.getByRole('alert').first().waitFor();
  expect(await value(page.getByLabel('Name', { exact: true }))).toBe('Half of a na');
});

test('edits belong to their workflow, and stay when another version is saved meanwhile', async () => {
  const [ours, other] = [await newWorkflow('Alpha', prompt('alpha')), await newWorkflow('Beta', prompt('beta'))];
  const field = page.getByRole('list', { name: 'the workflow' }).getByLabel('Prompt', { exact: true });
  await open(`workflows/${other}`);
  await goBySearch(ours);
  await page.getByRole('heading', { level: 1, name: 'Alpha' }).waitFor();
  await field.fill('alpha, edited');
  await goBySearch(other);
  await page.getByRole('heading', { level: 1, name: 'Beta' }).waitFor();
  expect(await value(field)).toBe('beta');
  await goBySearch(ours);
  await page.getByRole('heading', { level: 1, name: 'Alpha' }).waitFor();
  expect(await value(field)).toBe('alpha, edited');

  await api.request('PATCH', `/api/v1/workflows/${ours}`, { steps: prompt('by another person') });
  await comeBack(`/api/v1/workflows/${ours}`);
  await page.getByText('Version 2 was saved after you began to edit version 1.').waitFor();
  expect(await value(field)).toBe('alpha, edited');
  await page.getByRole('button', { name: 'Keep my changes in place of it' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').first().waitFor();
  const { steps } = (await api.get(`/api/v1/workflows/${ours}`)).body.data;
  expect(steps[0].prompt).toBe('alpha, edited');
});

test('what is removed from the JSON of a workflow is removed from it', async () => {
  const id = await newWorkflow('Limited', prompt('{{input}}'), {
    concurrency: { limit: 2, strategy: 'skip' },
    maxDurationSeconds: 60,
    inputs: [{ name: 'city', type: 'string', required: false }],
  });
  await open(`workflows/${id}`);
  await page.getByRole('button', { name: 'JSON' }).click();
  const { concurrency, inputs, ...rest } = JSON.parse(await value(page.getByLabel('Definition')));
  expect([concurrency.limit, inputs[0].name]).toEqual([2, 'city']);
  await page.getByLabel('Definition').fill(JSON.stringify(rest));
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').first().waitFor();
  const { definition } = (await api.get(`/api/v1/workflows/${id}/versions/2`)).body.data;
  expect(definition).toMatchObject({ inputs: [], concurrency: null, maxDurationSeconds: 60 });
});

test('the JSON of a step goes with it when it is moved', async () => {
  const http = (id: string) => ({ id, type: 'http', url: `https://${id}.example.com`, headers: { 'X-Step': id } });
  const id = await newWorkflow('Moved', [http('one'), http('two')]);
  await open(`workflows/${id}`);
  await page.getByRole('button', { name: 'Move two up' }).click();
  const first = page.getByRole('list', { name: 'the workflow' }).getByRole('listitem').first();
  expect(await value(first.getByLabel('Id'))).toBe('two');
  expect(JSON.parse(await value(first.getByLabel('Headers', { exact: true })))).toEqual({ 'X-Step': 'two' });
});

test('saving a schedule keeps what its form has no fields for, and hours without a restriction stay without one', async () => {
  const id = await newWorkflow('Nightly', prompt('{{city}}'), {
    inputs: [{ name: 'city', type: 'string', required: true }],
  });
  const path = `/api/v1/workflows/${id}/schedule`;
  const schedule = { cron: '0 3 * * *', timezone: 'Europe/Berlin', variables: { city: 'Rome' }, tags: ['night'] };
  expect((await api.request('PUT', path, schedule)).status).toBeLessThan(300);
  await open(`workflows/${id}?tab=schedule`);
  await page.getByLabel('Paused').check();
  await page.getByRole('button', { name: 'Save the schedule' }).click();
  await page.getByText('The schedule is paused').waitFor();
  expect((await api.get(path)).body.data).toMatchObject({ ...schedule, paused: true });

  await open('scheduling?tab=hours');
  await page.getByLabel('Time zone').fill('Europe/Rome');
  await page.getByRole('button', { name: 'Save hours' }).click();
  await page.getByText('Saved.').first().waitFor();
  const hours = (await api.get('/api/v1/scheduling/business-hours')).body.data;
  expect(hours).toMatchObject({ timezone: 'Europe/Rome', default: null });
});

test('a workflow is run with a list and an object, and what it has by default is shown', async () => {
  const inputs = [
    { name: 'names', type: 'array', required: true },
    { name: 'loud', type: 'boolean', required: false, default: true },
  ];
  const id = await newWorkflow('Lists', prompt('{{names}}'), { inputs });
  await open(`workflows/${id}?tab=run`);
  await page.getByLabel('loud').waitFor();
  expect(await page.getByLabel('loud').isChecked()).toBe(true);
  await page.getByLabel('names').fill('["Ada", "Grace"]');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('heading', { name: 'Run of Lists' }).waitFor();
});

test('who answers an approval second is told so', async () => {
  const id = await newWorkflow('Ask', [{ id: 'ask', type: 'approval', message: 'Ship it?' }]);
  await api.post(`/api/v1/workflows/${id}/execute`, { async: true });
  await page.goto(`${origin}/app/inbox`);
  await page.getByText('Ship it?').waitFor();
  const [approval] = (await api.get('/api/v1/approvals?status=pending')).body.data.approvals;
  const respond = `**/api/v1/approvals/${approval.id}/respond`;
  await page.route(respond, async (route) => {
    await api.post(`/api/v1/approvals/${approval.id}/respond`, { action: approval.actions[0].id });
    await route.continue();
  });
  const button = page.getByRole('button', { name: approval.actions.at(-1).label, exact: true });
  const answered = page.waitForResponse((response) => response.url().endsWith('/respond'));
  await button.click();
  const { error } = await (await answered).json();
  await page.getByRole('status').getByText(error.message).waitFor();
});

test('a video that fails says why, and a message without a reply can be sent again', async () => {
  await open('studio?tab=video');
  await page.getByLabel('Prompt').fill('A lighthouse sandbox:fail');
  await page.getByRole('button', { name: 'Generate', exact: true }).click();
  await page.getByRole('alert').waitFor();

  await open('playground');
  const message = page.getByRole('textbox', { name: 'Message' });
  await page.route('**/api/chat', (route) =>
    route.fulfill({ status: 402, json: { success: false, error: 'No credits.' } }),
  );
  await message.fill('A long question.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('alert').waitFor();
  expect(await value(message)).toBe('A long question.');
  expect(await page.getByRole('list', { name: 'Messages' }).getByRole('listitem').count()).toBe(0);
});

test('a filter keeps the focus when it is applied, follows the address, and one that is left as it is moves no list', async () => {
  await open('runs?offset=50');
  const tag = page.getByPlaceholder('Tag');
  await tag.focus();
  await page.keyboard.press('Tab');
  expect(page.url()).toContain('offset=50');
  await tag.fill('night');
  await page.keyboard.press('Enter');
  await page.waitForURL(/tag=night/);
  expect(await tag.evaluate((field) => field === field.ownerDocument.activeElement)).toBe(true);
  await page.getByLabel('From').fill('2026-01-02T03:04');
  await page.waitForURL(/from=/);
  await page.getByRole('button', { name: 'Remove the filters' }).click();
  await until('the fields are empty', async () => `${await value(tag)}${await value(page.getByLabel('From'))}` === '');

  const { id } = (
    await api.post('/api/v1/webhooks', { name: 'Hook', url: 'https://hooks.example.com/', events: ['*'] })
  ).body.data;
  await open(`webhooks/${id}?offset=50`);
  await page.getByPlaceholder('Event type').focus();
  await page.keyboard.press('Tab');
  expect(page.url()).toContain('offset=50');
});

test('the focus stays on a button while its action is under way, and in the page when the button is gone', async () => {
  const focused = () => page.evaluate<string>(`document.activeElement.textContent || document.activeElement.tagName`);
  const id = await newWorkflow('Focused', prompt('x'));
  await open(`workflows/${id}?tab=settings`);
  await page.getByRole('button', { name: 'Save settings' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Saved.').first().waitFor();
  expect(await focused()).toBe('Save settings');

  await api.request('PUT', '/api/v1/secrets/GONE', { value: 'x' });
  await open('secrets');
  await page.getByRole('button', { name: 'Delete' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('No secrets yet').waitFor();
  await until('the focus is in the page', () => page.evaluate<boolean>(`document.activeElement.id === 'content'`));
});

test('the microphone is closed with its page', async () => {
  await context.grantPermissions(['microphone'], { origin });
  const content = `
    const { mediaDevices } = navigator;
    const getUserMedia = mediaDevices.getUserMedia.bind(mediaDevices);
    mediaDevices.getUserMedia = async (asked) => {
      const stream = await getUserMedia(asked);
      globalThis.tracks = stream.getTracks();
      return stream;
    };`;
  await page.addInitScript({ content });
  await open('playground?tab=transcription');
  await page.getByRole('button', { name: 'Record', exact: true }).click();
  await page.getByRole('button', { name: 'Stop recording' }).waitFor();
  await page.getByRole('link', { name: 'Text to speech' }).click();
  await until('the microphone is closed', () =>
    page.evaluate<boolean>(`tracks.every(({ readyState }) => readyState === 'ended')`),
  );
});

test('times go on while a page stands, and durations and days of clock changes are right', async () => {
  const modules = `
    const { formatDuration } = await import('${root}web/src/components/duration.ts');
    const { placeInDay } = await import('${root}web/src/pages/scheduling/week.ts');
    const booking = { start: '2026-10-25T09:00:00+01:00', end: '2026-10-25T09:30:00+01:00' };
    const [{ from, to }] = placeInDay([booking], new Date(2026, 9, 25));
    console.log(JSON.stringify([[119_600, 59_990, 999.7, 3_600_000].map(formatDuration), from, to]));`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', modules], {
    env: { TZ: 'Europe/Berlin' },
  });
  expect(JSON.parse(String(printed))).toEqual([['2 min 0 s', '1 min 0 s', '1.0 s', '1 h 0 min'], 540, 570]);

  await newWorkflow('Ticking', prompt('x'));
  await page.clock.install();
  await open('workflows');
  const changed = page.getByRole('row', { name: /Ticking/ }).locator('time');
  const before = await changed.textContent();
  await page.route('**/api/v1/**', (route) => route.abort('connectionrefused'));
  await page.clock.fastForward('05:00');
  await until('the time has gone on', async () => (await changed.textContent()) !== before);
});

test('a session that could not be ended goes on, and the menu says so', async () => {
  await open('runs');
  await page.route('**/api/auth/sign-out', (route) => route.fulfill({ status: 503, body: '' }));
  await page.getByText('owner@example.com').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('alert').getByText('You are still signed in').waitFor();
});

// The last one: it ends the session.
test('drafts end with the session of who signs out', async () => {
  const drafts = () => page.evaluate<string[]>(`Object.keys(sessionStorage).filter((key) => key.includes('draft'))`);
  await open(`workflows/${await newWorkflow('Left', prompt('left'))}`);
  const field = page.getByRole('list', { name: 'the workflow' }).getByLabel('Prompt', { exact: true });
  await field.fill('left behind');
  await until('there is a draft', async () => (await drafts()).length > 0);
  await page.getByText('owner@example.com').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await drafts()).toEqual([]);
});
