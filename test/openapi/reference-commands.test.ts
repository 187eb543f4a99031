import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { shellEnvironment } from '../local-stack/stack-folder.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import type { Json } from './document.ts';

let product: StartedProduct;
let document: Json;
beforeAll(async () => {
  product = await sharedProduct();
  document = await (await fetch(`${product.process.api}/openapi.json`)).json();
});
afterAll(() => product.close());

/** The commands of the reference's text, in order. */
const commandsOf = (text: string): string[] =>
  [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.trim().split(/\n\n/));

test('every command of the reference succeeds, one after the other', async () => {
  const cwd = mkdtempSync(join(runningServers().folder, 'reference-'));
  const api = product.process.api;
  const ids: Record<string, string> = {};
  const commands = commandsOf(document.info.description).filter((command) => command.startsWith('curl'));
  expect(commands.length).toBeGreaterThan(15);
  for (const command of commands) {
    const here = command
      .replaceAll(document.servers[0].url, api)
      .replaceAll(/WORKFLOW_ID|VIDEO_ID|EVENT_TYPE_ID/g, (name) => ids[name]!);
    const { stdout } = await promisify(execFile)('sh', ['-euc', here], {
      cwd,
      env: { ...shellEnvironment(), KEY: product.tenant.testKey },
    });
    const written = / -o (\S+)$/.exec(command)?.[1];
    if (written) {
      expect(readFileSync(join(cwd, written)).length).toBeGreaterThan(1_000);
      continue;
    }
    const { success, data } = JSON.parse(stdout);
    expect({ command, stdout, success }).toMatchObject({ success: true });
    if (/\/workflows /.test(command)) ids.WORKFLOW_ID = data.id;
    if (/generate-video /.test(command)) ids.VIDEO_ID = data.id;
    if (/event-types /.test(command)) ids.EVENT_TYPE_ID = data.id;
    // Its owner follows the address in a browser.
    if (/slack\/connect/.test(command)) await connectInSandbox(product.api, api, 'slack');
  }
});

test('the reference has an example of every feature, and names every scope', () => {
  const text: string = document.info.description;
  const used = Object.keys(document.paths).filter((path) => /^\/api\/(?!v1|cron|admin)/.test(path));
  const surfaces = new Set(used.map((path) => path.split('/').slice(0, 3).join('/')));
  for (const surface of [...surfaces].filter((one) => /studio|chat|agents|voice/.test(one))) {
    expect({ surface, shown: text.includes(surface) }).toEqual({ surface, shown: true });
  }
  const scopes = new Set(
    Object.values<Json>(document.paths)
      .flatMap((path) => Object.values<Json>(path))
      .flatMap((operation) => operation.security?.[0]?.bearer ?? []),
  );
  expect(scopes.size).toBeGreaterThan(8);
  for (const scope of scopes) expect(text).toContain(`| \`${scope}\` |`);
});
