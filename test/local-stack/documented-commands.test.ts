import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { parse } from 'yaml';
import { findTemporalProgram } from '../../local/temporal/temporal-program.ts';
import { readLocalSettings, requiredInProduction, variableNames } from '../../src/platform/env.ts';
import { catalog } from '../../src/services.ts';
import { isRoleName, roleNames } from '../../workers/roles.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { runCli } from '../cli/run-cli.ts';
import { until } from '../until.ts';
import { openReceiver, type Receiver } from '../webhooks/receiver.ts';
import {
  type DocumentedCommand,
  documentedCommands,
  documentedPrograms,
  documents,
  mentionedCommands,
  mentionedFiles,
  mentionedRequests,
  mentionedVariables,
  receiverExample,
} from './documents.ts';
import { type Ready, root, StackFolder, shellEnvironment } from './stack-folder.ts';

const run = promisify(execFile);
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  name: string;
  services: Record<string, { environment?: Record<string, string>; command?: string[] }>;
  volumes: Record<string, unknown>;
};

let folder: StackFolder;
let ready: Ready;
let api: ApiClient;
let receiver: Receiver;
/** A webhook whose receiver fails, and its dead letters. */
let webhook: { id: string; secret: string };
let deadLetters: string[];
let sealingKeys: string;
/** The booking that the documented request creates. */
let bookingId: string;
/** The organization that is deleted and restored. */
let removedId: string | undefined;

beforeAll(async () => {
  folder = new StackFolder();
  folder.takeBuiltBundle();
  const env = { EGRESS_ALLOW_CIDRS: '127.0.0.0/8' };
  [ready, receiver] = await Promise.all([folder.start({ by: 'npm', env }).ready(), openReceiver()]);
  api = apiClient(ready.api, ready.testKey);
  sealingKeys = JSON.parse(readFileSync(folder.file('secrets.json'), 'utf8')).SEALING_KEYS;
  receiver.script('/', () => ({ status: 500 }));
  const subscription = { name: 'Failing', url: receiver.url('/'), events: ['api_key.expiring'], maxAttempts: 1 };
  webhook = (await api.post('/v1/webhooks', subscription)).body.data;
  const wanted = documentedCommands.filter(({ command }) => command.includes('dlv_…')).length;
  for (let sent = 0; sent < wanted; sent++) await api.post(`/v1/webhooks/${webhook.id}/test`);
  deadLetters = await until('there are dead letters', async () => {
    const { deliveries } = (await api.get(`/v1/webhooks/${webhook.id}/deliveries?status=dead_lettered`)).body.data;
    return deliveries.length === wanted && deliveries.map(({ id }: { id: string }) => id);
  });
});
afterAll(async () => {
  process.kill(folder.processes().starter.pid, 'SIGTERM');
  await until('the stack has stopped', async () => !existsSync(folder.file('holding.json')));
  await receiver.close();
  folder.close();
});

/** Runs a line as a shell does that has nothing but its path and the data folder. @throws when it fails */
async function sh(command: string, { cwd = root, env = {} }: { cwd?: string; env?: Record<string, string> } = {}) {
  const { stdout } = await run('sh', ['-euc', command], {
    cwd,
    env: { ...shellEnvironment(), ATELIER_DATA: folder.data, ...env },
  });
  return stdout;
}

const atCli = /(?:npm run --silent cli --|node src\/cli\/main\.ts) (.*)$/;
const isRedrive = (command: string) => / delivery redrive /.test(command);

/** An operator's command, in this process, with ids in place of its placeholders. @throws unless it succeeds */
async function cli(args: string): Promise<string> {
  const variables = { ATELIER_DATA: folder.data, SEALING_KEYS: sealingKeys };
  const call = async (line: string) => {
    const outcome = await runCli([...line.split(' '), '--json'], variables);
    expect({ line, ...outcome }).toMatchObject({ line, exitCode: 0, stderr: '' });
    return outcome.stdout;
  };
  const newKey = async () => JSON.parse(await call(`key create --org ${ready.organizationId} --env test`)).id as string;
  const newRun = async () => {
    const { id } = (await api.post('/v1/workflows', { name: 'Shown' })).body.data;
    return (await api.post(`/v1/workflows/${id}/execute`)).body.data.runId as string;
  };
  if (/^org (?:delete|restore) /.test(args)) {
    // Not the organization that everything else uses.
    removedId ??= JSON.parse(await call('org create --name Removed --plan free')).id as string;
    const line = args.replace('org_…', removedId);
    return call(args.startsWith('org delete') ? `${line} --yes ${removedId}` : line);
  }
  const filled = args
    .replace('org_…', ready.organizationId)
    .replace('whk_…', webhook.id)
    .replace('bkg_…', bookingId)
    .replace('5b0c51f2-…', bookingId)
    .replace('dlv_…', () => deadLetters.pop()!)
    .replace('run_…', args.includes('run_…') ? await newRun() : '')
    .replace('key_…', args.includes('key_…') ? await newKey() : '');
  return call(filled);
}

/** The documented commands that fit, each of which is then accounted for. */
const left = new Set<DocumentedCommand>(documentedCommands);
function take(pattern: RegExp): DocumentedCommand[] {
  const taken = [...left].filter(({ command }) => pattern.test(command));
  for (const one of taken) left.delete(one);
  return taken;
}

/** The data of the last of Server-Sent Events. */
const lastEventOf = (text: string): string =>
  text
    .trimEnd()
    .split('\n')
    .at(-1)!
    .replace(/^data: /, '');

test('requests are answered as the pages say', async () => {
  let key = ready.testKey;
  /** The last workflow that each page makes. Pages that make none go on with that of the first page. */
  const workflowIds = new Map<string, string>();
  let eventTypeId = '';
  let webhookId = '';
  let authUrl = '';
  let triggerSecret = '';
  let approvalId = '';
  const requests = take(/^(?:curl|export) /);
  expect(requests.length).toBeGreaterThanOrEqual(5);
  for (const { document, command } of requests) {
    const given = /^export KEY=(\S+)…$/.exec(command)?.[1];
    if (given) {
      expect(ready.testKey.startsWith(given)).toBe(true);
      key = ready.testKey;
      continue;
    }
    const here = command
      .replace(/https?:\/\/[\w.:]+(?=\/(?:api|v1|mcp|openai)\b)/, ready.api)
      .replace('WORKFLOW_ID', workflowIds.get(document) ?? workflowIds.get('README.md') ?? '')
      .replace('EVENT_TYPE_ID', eventTypeId)
      .replace('WEBHOOK_ID', webhookId)
      .replace('AUTH_URL', authUrl)
      .replace('TRIGGER_SECRET', triggerSecret)
      .replace('APPROVAL_ID', approvalId);
    const send = () => sh(here, { cwd: folder.data, env: { KEY: key } });
    const said = /\/approvals\?/.test(command)
      ? await until('an approval is asked for', async () => {
          const text = await send();
          return text.includes('"apr_') && text;
        })
      : await send();
    const written = / -o (\S+)$/.exec(command)?.[1];
    if (written) {
      const bytes = readFileSync(folder.file(written));
      if (written.endsWith('.html')) expect(bytes.toString()).toContain('<h1>Integration connected</h1>');
      else expect(bytes.length).toBeGreaterThan(1_000);
      continue;
    }
    const answer = JSON.parse(said.startsWith('{') ? said : lastEventOf(said));
    expect({ command, ...answer }).toMatchObject({
      command,
      ...(answer.success === undefined ? {} : { success: true }),
    });
    if (/\/workflows /.test(command)) workflowIds.set(document, answer.data.id);
    if (/\/event-types /.test(command)) eventTypeId = answer.data.id;
    if (/\/v1\/webhooks /.test(command)) webhookId = answer.data.id;
    if (/\/webhook-secret /.test(command)) triggerSecret = answer.data.secret;
    if (/\/connect /.test(command)) authUrl = answer.data.authUrl;
    if (/\/bookings /.test(command)) bookingId = answer.data.id;
    if (/\/approvals\?/.test(command)) approvalId = answer.data.approvals[0].id;
    if (/\/execute /.test(command)) {
      expect(answer.data.status).toMatch(
        /"async": ?true/.test(command) ? /^(PENDING|RUNNING|COMPLETED)$/ : /^COMPLETED$/,
      );
    }
    // OpenAI's answers have the member, and it is null.
    expect(answer.error ?? undefined).toBeUndefined();
    // A tool of the MCP server that fails says so in its result.
    expect(answer.result?.isError).toBeUndefined();
  }
});

test('programs of the TypeScript client run as the pages show them', async () => {
  expect(documentedPrograms.map(({ document }) => document)).toEqual(['README.md', 'docs/clients.md']);
  for (const [index, { program }] of documentedPrograms.entries()) {
    const file = folder.file(`program-${index}.mts`);
    const client = JSON.stringify(join(root, 'sdk/typescript/src/index.ts'));
    writeFileSync(file, program.replaceAll("'atelier-client'", client).replaceAll('http://127.0.0.1:3000', ready.api));
    const said = await sh(`node ${file}`, { env: { KEY: ready.testKey } });
    expect(said).toMatch(/^COMPLETED \[sandbox/m);
  }
});

test("operators' commands succeed", async () => {
  const commands = take(atCli).map(({ command }) => ({ command, args: atCli.exec(command)![1]! }));
  expect(commands.length).toBeGreaterThanOrEqual(20);
  for (const { command } of commands) {
    const service = /^docker compose exec (\S+) /.exec(command)?.[1];
    if (service) expect(Object.keys(compose.services)).toContain(service);
  }
  for (const { command, args } of commands.filter((one) => !isRedrive(one.command))) {
    expect(/^SEALING_KEYS=/.test(command)).toBe(args === 'secrets reseal');
    await cli(args);
  }
  // These take every dead letter that is left.
  for (const { args } of commands.filter(({ command }) => isRedrive(command))) await cli(args);
  for (const args of mentionedCommands.flatMap(({ command }) => atCli.exec(command)?.[1] ?? [])) await cli(args);
});

/** Words after `npm` that are npm's own. */
const ofNpm = ['ci', 'install', 'pack', 'prune'];

test('units of systemd exist, and every role has one', () => {
  const names = take(/^systemctl /).flatMap(({ command }) => command.split(' ').filter((word) => word.includes('@')));
  for (const [unit, instance] of names.map((name) => name.split('@'))) {
    expect(existsSync(join(root, `deploy/systemd/${unit}@.service`))).toBe(true);
    if (unit === 'atelier') expect(isRoleName(instance!)).toBe(true);
  }
  const roles = names.map((name) => name.replace(/^atelier-api@\d+$/, 'api').replace('atelier@', ''));
  expect(roles.toSorted()).toEqual([...roleNames].toSorted());
});

test('scripts and programs exist', () => {
  const npm = /^(?:npm ci && )?npm (?:run )?(?:--silent )?([\w:]+)/;
  for (const { command } of [...take(npm), ...mentionedCommands.filter((one) => npm.test(one.command))]) {
    expect([...Object.keys(scripts), ...ofNpm]).toContain(npm.exec(command)![1]);
  }
  for (const { command } of take(/^node (?:workers|web)\//))
    expect(existsSync(join(root, command.split(' ')[1]!))).toBe(true);
  for (const { command } of mentionedCommands) {
    const [, program, ...rest] = /^(?:npx |node_modules\/\.bin\/)?node (\S+)(.*)$/.exec(command) ?? [];
    if (!program) continue;
    expect({ program, exists: existsSync(join(root, program)) }).toEqual({ program, exists: true });
    if (program === 'workers/main.ts') expect(rest[0]!.trim().split(' ').every(isRoleName)).toBe(true);
  }
});

test('the secrets of self-hosting are made, and are what the product reads', async () => {
  const cwd = folder.file('self-hosting');
  mkdirSync(cwd);
  const commands = take(/^umask |<<END\n/).map(({ command }) => command);
  await sh(commands.join('\n'), { cwd });
  const variables = Object.fromEntries(
    readFileSync(join(cwd, '.env'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => /^(\w+)=(.*)$/.exec(line)!.slice(1)),
  );
  const known = [...variableNames(catalog.settings), 'POSTGRES_PASSWORD', 'APP_DATABASE_PASSWORD'];
  expect(Object.keys(variables).filter((name) => !known.includes(name))).toEqual([]);
  expect(Buffer.from(variables.SEALING_KEYS.split(':')[1], 'base64')).toHaveLength(32);
  for (const name of ['POSTGRES_PASSWORD', 'APP_DATABASE_PASSWORD', 'URL_SIGNING_KEY', 'CRON_SECRET'])
    expect(variables[name]).toMatch(/^\w{64}$/);
});

test('commands of the Temporal CLI are understood by the server', async () => {
  const { path } = await findTemporalProgram({ settings: readLocalSettings(), log: () => {} });
  const env = { PATH: `${dirname(path)}${delimiter}${shellEnvironment().PATH}`, TEMPORAL_ADDRESS: ready.temporal };
  for (const { command } of take(/^temporal /)) await sh(command, { env });
  for (const { command } of mentionedCommands.filter((one) => one.command.startsWith('temporal '))) {
    expect(await sh(`${command} --help`, { env })).toContain(command);
  }
});

test('commands of Docker name what docker-compose.yml has', async () => {
  const commands = take(/\bdocker /);
  expect(commands.length).toBeGreaterThanOrEqual(8);
  for (const { command } of commands) {
    await run('sh', ['-nc', command]);
    const [, verb, words = ''] = /docker compose (\w+)(.*)/s.exec(command) ?? [];
    const volume = /docker volume rm --force (\S+)/.exec(command)?.[1];
    if (volume) expect(Object.keys(compose.volumes).map((name) => `${compose.name}_${name}`)).toContain(volume);
    else expect(['build', 'up', 'down', 'exec', 'run']).toContain(verb);
    if (verb === 'exec' || verb === 'run') {
      const options = / -T| --rm| --no-deps| --entrypoint sh/g;
      const [service = '', ...rest] = words.replaceAll(options, '').trim().split(/\s+/);
      expect(Object.keys(compose.services)).toContain(service);
      const environment = Object.entries(compose.services[service]!.environment ?? {});
      const user = / -U (\w+)/.exec(command)?.[1];
      if (user) expect(environment).toContainEqual(['POSTGRES_USER', user]);
      if (rest[0] === 'ls') expect(environment).toContainEqual(['MAIL_FOLDER', rest[1]]);
    }
  }
});

test('the receiver of the guide to webhooks recognizes genuine requests', async () => {
  const file = folder.file('receiver.mjs');
  writeFileSync(file, receiverExample);
  const { isGenuine } = await import(file);
  const { headers, body } = (await receiver.has('/', 1))[0]!;
  // It refuses what was sent minutes ago, as this was: before the other tests.
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.parse(String(headers['x-service-timestamp'])));
  try {
    expect(isGenuine(headers, body, webhook.secret)).toBe(true);
    expect(isGenuine(headers, `${body} `, webhook.secret)).toBe(false);
    expect(isGenuine(headers, body, `${webhook.secret}x`)).toBe(false);
  } finally {
    clock.mockRestore();
  }
});

test('requests that the pages name exist', async () => {
  const { paths } = (await api.get('/openapi.json')).body as { paths: Record<string, object> };
  const served = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{}')}`),
  );
  const pages = ['GET /', 'GET /docs', 'GET /docs/guides', 'GET /openapi.json'];
  for (const page of pages) expect((await fetch(ready.api + page.slice('GET '.length))).status).toBe(200);
  // The document lists each action by its name.
  const known = [...served, ...pages, 'GET /metrics', 'POST /api/v1/integrations/{}/actions/{}'];
  expect(mentionedRequests.length).toBeGreaterThan(30);
  expect(mentionedRequests.filter(({ command }) => !known.includes(command))).toEqual([]);
});

test('files that the pages name exist', () => {
  expect(mentionedFiles.length).toBeGreaterThan(20);
  expect(mentionedFiles.filter(({ command }) => !existsSync(join(root, command)))).toEqual([]);
});

test('variables and versions that the pages name are those of the code', () => {
  const example = read('.env.example');
  expect(mentionedVariables.length).toBeGreaterThan(15);
  // A placeholder, an answer of Temporal, and variables of Compose itself and of the benches.
  const others = [
    'WORKFLOW_ID',
    'EVENT_TYPE_ID',
    'WEBHOOK_ID',
    'AUTH_URL',
    'ALREADY_EXISTS',
    'COMPOSE_PROFILES',
    'COST_WALK_REPORT',
  ];
  const known = (name: string) =>
    others.includes(name) ||
    new RegExp(`^${name}=`, 'm').test(example) ||
    read('docker-compose.yml').includes(`\${${name}:?`) ||
    name in compose.services.postgres!.environment!;
  expect(mentionedVariables.filter((name) => !known(name))).toEqual([]);
  const wordsOf = (document: string) => documents.get(document)!.replaceAll('\n', ' ');
  const [readme, operations] = [wordsOf('README.md'), wordsOf('docs/operations.md')];
  const ofProduction = /With `NODE_ENV=production` the secrets ([^.]*) are required too/.exec(operations)![1]!;
  expect([...ofProduction.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual([...requiredInProduction]);
  expect(/Go ([\d.]+) or newer/.exec(readme)![1]).toBe(/^go (.*)$/m.exec(read('tools/temporal/go.mod'))![1]);
  const roles = /several roles \(([^)]*)\)/.exec(operations)![1]!;
  expect([...roles.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual([...roleNames]);
  expect(/its own Node (\d+)/.exec(readme)![1]).toBe(
    JSON.parse(read('package.json')).devDependencies.node.split('.')[0],
  );
});

test('no command is left that nothing tries', () => {
  take(/^git pull$/);
  expect([...left]).toEqual([]);
});
