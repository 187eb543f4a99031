import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { runCli } from '../cli/run-cli.ts';
import { secrets } from '../operator.ts';
import { openToolScene, type ToolScene } from './tool-scene.ts';

let scene: ToolScene;
let org: string;

beforeAll(async () => {
  scene = await openToolScene();
  org = organizationIds.format((await scene.newTenant('live')).tenant.organizationId);
});
afterAll(() => scene.close());

async function cli(args: string[], SEALING_KEYS: string | undefined = secrets.SEALING_KEYS) {
  const variables = { DATABASE_URL: scene.databaseUrl, ...(SEALING_KEYS && { SEALING_KEYS }) };
  const { exitCode, stdout, stderr } = await runCli([...args, '--json'], variables);
  return { exitCode, said: JSON.parse(stdout || stderr) };
}
const tools = (command: string, ...more: string[]) => cli(['tools', command, '--org', org, ...more]);
const refusal = (message: string) => ({
  exitCode: 1,
  said: { error: { code: 'validation_error', message: expect.stringContaining(message) } },
});

test('a server is configured, listed without its secrets, and removed', async () => {
  const configured = await tools(
    'configure',
    '--server',
    'web-search',
    '--set',
    'engine=tavily',
    '--secret',
    'apiKey=a=b',
  );
  expect(configured).toEqual({
    exitCode: 0,
    said: {
      organizationId: org,
      environment: 'live',
      server: 'web-search',
      enabled: true,
      url: null,
      values: { engine: 'tavily' },
      secrets: ['apiKey'],
      updatedAt: expect.any(String),
    },
  });
  const { said } = await tools('list');
  expect(said.servers).toHaveLength(12);
  expect(said.servers.filter(({ configured }: { configured: boolean }) => configured)).toMatchObject([
    { id: 'web-search' },
  ]);
  expect(JSON.stringify(said)).not.toContain('a=b');
  expect((await tools('list', '--env', 'test')).said.servers[0]).toMatchObject({ configured: true });
  expect((await tools('configure', '--server', 'web-search', '--disable')).said).toMatchObject({ enabled: false });
  expect(await tools('remove', '--server', 'web-search')).toEqual({ exitCode: 0, said: { removed: true } });
});

test('what is wrong is named', async () => {
  expect(await tools('configure', '--server', 'nothing')).toEqual(refusal('server: No tool server has this id.'));
  expect(await tools('remove', '--server', 'nothing')).toEqual(refusal('server:'));
  expect(await tools('configure', '--server', 'github')).toEqual(refusal('secrets.token: Required.'));
  expect(await tools('configure', '--server', 'sqlite', '--set', 'a=b')).toEqual(refusal('values.a:'));
  expect(await tools('configure', '--server', 'github', '--secret', 'token')).toEqual(refusal('Expected name=value.'));
  expect(await tools('configure', '--server', 'docker', '--url', 'http://10.0.0.1/')).toEqual(refusal('url: '));
  expect(await tools('list', '--env', 'both')).toEqual(refusal('env: Expected test or live.'));
  const withoutKeys = await cli(['tools', 'configure', '--org', org, '--server', 'github', '--secret', 'token=x'], '');
  expect(withoutKeys).toMatchObject({ exitCode: 1, said: { error: { code: 'environment' } } });
});

test('a stored secret goes to no other address', async () => {
  const configure = (...more: string[]) => tools('configure', '--server', 'github', ...more);
  await configure('--secret', 'token=x');
  expect(await configure('--url', 'https://tools.example.com/')).toEqual(refusal('secrets.token: Required again'));
  expect((await configure('--url', 'https://tools.example.com/', '--secret', 'token=y')).exitCode).toBe(0);
  const search = (...more: string[]) => tools('configure', '--server', 'web-search', ...more);
  await search('--secret', 'apiKey=x');
  expect(await search('--set', 'engine=tavily')).toEqual(refusal('secrets.apiKey: Required again'));
});

test('secrets are sealed anew with the first key', async () => {
  await tools('configure', '--server', 'slack', '--secret', 'token=x');
  const both = `k2:${Buffer.alloc(32, 1).toString('base64')},${secrets.SEALING_KEYS}`;
  expect(await cli(['secrets', 'reseal'], both)).toMatchObject({ exitCode: 0, said: { resealed: 3 } });
  expect(await cli(['secrets', 'reseal'], both)).toMatchObject({ exitCode: 0, said: { resealed: 0 } });
});

test('what no key opens is left and listed, and all else is sealed anew', async () => {
  const key = (id: string, fill: number) => `${id}:${Buffer.alloc(32, fill).toString('base64')}`;
  const [one, other] = [await scene.newTenant('live'), await scene.newTenant('live')];
  const [readable, lost] = [one, other].map(({ tenant }) => organizationIds.format(tenant.organizationId)) as [
    string,
    string,
  ];
  const configure = (organization: string, keys: string) =>
    cli(['tools', 'configure', '--org', organization, '--server', 'slack', '--secret', 'token=x'], keys);
  await configure(lost, key('lost', 3));
  await configure(readable, key('k3', 4));
  const ring = `${key('k4', 5)},${key('k3', 4)},${key('k2', 1)},${secrets.SEALING_KEYS}`;
  const { exitCode, said } = await cli(['secrets', 'reseal'], ring);
  expect({ exitCode, said }).toEqual({
    exitCode: 1,
    said: {
      error: {
        code: 'secrets_unreadable',
        message: expect.stringMatching(/^1 values cannot be opened, and 4 were resealed\. .*"lost"/),
        details: {
          resealed: 4,
          unreadable: [
            {
              table: 'tool_configuration',
              column: 'sealed_secrets',
              id: expect.stringMatching(/^[0-9a-f-]{36}$/),
              organizationId: lost,
              environment: 'live',
              reason: expect.stringContaining('"lost"'),
            },
          ],
        },
      },
    },
  });
  // Steps and messages that name the server say why it cannot be used.
  const { tools: ofProcess, call } = scene.open();
  const sentence = 'The tool server slack is not available. The stored secrets cannot be decrypted.';
  const signal = AbortSignal.timeout(60_000);
  await expect(ofProcess.list(other, ['slack'], signal)).rejects.toThrow(sentence);
  expect(await call(other, 'slack_post_message')).toMatchObject({
    isError: true,
    text: expect.stringContaining(sentence),
  });
  // What is deleted is gone with its secrets, and the command succeeds.
  await cli(['tools', 'remove', '--org', lost, '--server', 'slack']);
  expect(await cli(['secrets', 'reseal'], key('k4', 5))).toEqual({ exitCode: 0, said: { resealed: 0 } });
});

test('a command uses the settings of the local stack that runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'atelier-cli-'));
  const SEALING_KEYS = `local:${Buffer.alloc(32, 6).toString('base64')}`;
  const local = async (environment: object, ...args: string[]) => {
    writeFileSync(
      join(folder, 'connection.json'),
      JSON.stringify({ environment: { DATABASE_URL: scene.databaseUrl, ...environment } }),
    );
    const given = ['tools', 'configure', '--org', org, ...args, '--json'];
    const { exitCode, stdout, stderr } = await runCli(given, { ATELIER_DATA: folder });
    return { exitCode, said: JSON.parse(stdout || stderr) };
  };
  try {
    const secret = ['--server', 'notion', '--secret', 'token=x'];
    expect(await local({}, ...secret)).toMatchObject({ exitCode: 1, said: { error: { code: 'environment' } } });
    expect(await local({ SEALING_KEYS }, ...secret)).toMatchObject({ exitCode: 0, said: { secrets: ['token'] } });
    const own = ['--server', 'docker', '--url', 'http://127.0.0.1:9/'];
    expect(await local({ SEALING_KEYS }, ...own)).toEqual(refusal('url: '));
    const loopback = { SEALING_KEYS, EGRESS_ALLOW_CIDRS: '127.0.0.0/8' };
    expect(await local(loopback, ...own)).toMatchObject({ exitCode: 0, said: { url: 'http://127.0.0.1:9/' } });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
