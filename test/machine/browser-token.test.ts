import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type Browser, chromium, type Page } from 'playwright-core';
import { build } from 'vite';
import { endOf, makeWorkflow } from '../automation/make-workflow.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { chromiumArguments, chromiumPath } from './temporal-ui.ts';

/** A page of another origin uses the TypeScript client with a token, and does not get further than the token lets it. */

// A browser takes its time on a busy machine.
jest.setTimeout(120_000);

let product: StartedProduct;
let browser: Browser;
let folder: string;
let sites: Server[];
/** Where pages come from: the one that tokens name, and another one. */
let site: string;
let elsewhere: string;
let workflowId: string;

/** The client as one script for browsers, which names it `client`. */
async function bundleClient(): Promise<string> {
  await build({
    configFile: false,
    logLevel: 'error',
    build: {
      outDir: folder,
      minify: false,
      lib: {
        entry: fileURLToPath(new URL('../../sdk/typescript/src/index.ts', import.meta.url)),
        name: 'client',
        formats: ['iife'],
        fileName: () => 'client.js',
      },
    },
  });
  return readFile(join(folder, 'client.js'), 'utf8');
}

/** Serves a page that loads the client. */
async function serve(client: string): Promise<[Server, string]> {
  const server = createServer(({ url }, response) => {
    if (url === '/client.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(client);
    else if (url === '/')
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><title>Site</title><script src="/client.js"></script>');
    else response.writeHead(404).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return [server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'browser-token-'));
  const client = await bundleClient();
  const served = await Promise.all([serve(client), serve(client)]);
  sites = served.map(([server]) => server);
  [site, elsewhere] = served.map(([, origin]) => origin) as [string, string];
  product = await sharedProduct();
  browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumArguments });
  ({ id: workflowId } = await makeWorkflow(product.api, {
    steps: [{ id: 'say', type: 'prompt', prompt: 'sandbox:slow=2 Hello {{input}}' }],
  }));
});
afterAll(async () => {
  await browser.close();
  await product.close();
  for (const server of sites) {
    server.closeAllConnections();
    server.close();
  }
  await rm(folder, { recursive: true, force: true });
});

async function open(origin: string): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(origin);
  return page;
}

async function issue(body: object): Promise<string> {
  const answer = await product.api.post('/api/v1/tokens', body);
  expect(answer.status).toBe(201);
  return answer.body.data.token;
}

/** What a page does with the client: `task` is the body of an async function with `atelier` and `given`. */
const inPage = (page: Page, token: string, task: string, given: object = {}) =>
  page.evaluate(
    `(async () => {
      const given = ${JSON.stringify(given)};
      const atelier = new client.Atelier(${JSON.stringify({ apiKey: token, baseUrl: product.process.api, maxRetries: 0 })});
      try {
        ${task}
      } catch (error) {
        return { failed: error.constructor.name, status: error.status };
      }
    })()`,
  );

test('starts a run, reads what its model writes, and resumes its stream', async () => {
  const page = await open(site);
  const token = await issue({
    scopes: ['runs:read', 'runs:execute'],
    workflowIds: [workflowId],
    origins: [site],
  });
  const watch = () =>
    inPage(
      page,
      token,
      `const { runId } = await atelier.workflows.execute(given.workflowId, { input: 'x', async: true });
       const seen = { runId, names: [], texts: {}, resumed: [] };
       let first;
       for await (const { id, event, data } of atelier.runs.events(runId, { deltas: 'true' })) {
         if (seen.names.at(-1) !== event) seen.names.push(event);
         if (event === 'step.delta')
           seen.texts[data.stepId] = (seen.texts[data.stepId] ?? '').slice(0, data.offset) + data.text;
         first ??= id;
       }
       for await (const { event } of atelier.runs.events(runId, {}, { lastEventId: first })) seen.resumed.push(event);
       seen.status = (await atelier.runs.get(runId)).status;
       return seen;`,
      { workflowId },
    );
  // On a busy machine its model may have written everything before the page listens.
  const seen = await until('a page listens while a model writes', async () => {
    const found = (await watch()) as { runId: string; names?: string[] };
    return (found.names?.includes('step.delta') ?? true) && found;
  });
  expect(seen).toMatchObject({ status: 'COMPLETED' });
  const { runId } = seen;
  const { output } = await endOf(product.api, runId);
  expect(seen).toEqual({
    runId,
    names: ['run.started', 'step.started', 'step.delta', 'step.completed', 'run.completed'],
    texts: { say: output.result },
    resumed: ['step.started', 'step.completed', 'run.completed'],
    status: 'COMPLETED',
  });
  await page.close();
});

test('from an origin that the token does not name reads nothing and starts nothing', async () => {
  const page = await open(elsewhere);
  const token = await issue({ scopes: ['runs:read', 'runs:execute'], workflowIds: [workflowId], origins: [site] });
  const count = async () => (await product.api.get(`/api/v1/runs?workflowId=${workflowId}`)).body.data.runs.length;
  const before = await count();
  // The answer has no CORS headers: the page learns nothing of it, its status neither.
  const refused = { failed: 'ConnectionError', status: null };
  expect(
    await inPage(page, token, "return await atelier.workflows.execute(given.workflowId, { input: 'x' });", {
      workflowId,
    }),
  ).toEqual(refused);
  expect(await inPage(page, token, 'return await atelier.runs.list().page();')).toEqual(refused);
  expect(await count()).toBe(before);
  await page.close();
});

test('with a key reads nothing, and with a token nothing that tokens do not reach', async () => {
  const page = await open(site);
  expect(await inPage(page, product.tenant.testKey, 'return await atelier.runs.list().page();')).toEqual({
    failed: 'ConnectionError',
    status: null,
  });
  const token = await issue({ scopes: ['runs:read'], origins: [site] });
  // The page may read why.
  expect(await inPage(page, token, 'return await atelier.workflows.list().page();')).toEqual({
    failed: 'PermissionError',
    status: 403,
  });
  await page.close();
});
