import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { declared } from '../../src/platform/parts/declared-parts.ts';
import { catalog } from '../../src/services.ts';
import { createTestDatabase, type TestDatabase } from '../test-database.ts';
import { runProgram } from './run-cli.ts';

const project = new URL('../../', import.meta.url);
const recorder = new URL('record-modules.ts', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'atelier-modules-'));
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

interface Loaded {
  /** Names of packages. */
  packages: string[];
  /** Folders below `src`. */
  parts: string[];
  stderr: string;
}

async function loadedBy(args: string[]): Promise<Loaded> {
  const file = join(folder, `${args.join('-')}.json`);
  const preloaded = new URL(recorder);
  preloaded.searchParams.set('file', file);
  const program = fileURLToPath(new URL('src/cli/main.ts', project));
  const variables = { DATABASE_URL: database.url, SEALING_KEYS: 'k'.repeat(43) };
  const { stderr } = await runProgram(process.execPath, ['--import', preloaded.href, program, ...args], variables);
  const paths = (JSON.parse(readFileSync(file, 'utf8')) as string[])
    .filter((url) => url.startsWith(project.href))
    .map((url) => url.slice(project.href.length));
  const names = (pattern: RegExp) => [...new Set(paths.flatMap((path) => path.match(pattern)?.[1] ?? []))].toSorted();
  return {
    packages: names(/^node_modules\/(?:.*\/node_modules\/)?((?:@[^/]+\/)?[^/]+)/),
    parts: names(/^src\/([^/]+)\//),
    stderr,
  };
}

/** The driver of PostgreSQL with what it needs, and what reads arguments and variables. */
const slim = /^(commander|zod|canonicalize|nanoid|xtend|split2|pgpass|pg|pg-[a-z0-9-]+|postgres-[a-z]+)$/;

const organization = `org_${'0'.repeat(32)}`;
const id = '00000000-0000-7000-8000-000000000000';

// What follows is only found by its test when a command begins to load what it does not need: entity managers, the client of
// Temporal, SDKs of providers and the features themselves take a second of processor time.
test.each([
  { args: ['--help'] },
  { args: ['org', 'list'] },
  { args: ['key', 'list', '--org', organization] },
  { args: ['audit', 'list', '--org', organization] },
  { args: ['audit', 'verify'] },
  { args: ['credits', 'show', '--org', organization] },
  { args: ['delivery', 'list'] },
  { args: ['delivery', 'redrive'] },
  { args: ['deprecation', 'announce'] },
  { args: ['outbox', 'list'] },
  { args: ['run', 'show', id] },
  { args: ['find', id] },
  { args: ['generation', 'show', id] },
  { args: ['secrets', 'reseal'] },
  { args: ['tools', 'list', '--org', organization] },
])('$args loads the driver of PostgreSQL and no other large package', async ({ args }) => {
  const { packages, parts } = await loadedBy(args);
  expect(packages.filter((name) => !slim.test(name))).toEqual([]);
  expect(packages).toEqual(expect.arrayContaining(['commander', 'pg', 'zod']));
  expect(parts).toContain('cli');
});

test('commands on keys load the part that keys belong to, and no other', async () => {
  const { parts, stderr } = await loadedBy(['key', 'list', '--org', organization]);
  // From Temporal only the format of an address is loaded, for the variables that every command reads.
  expect(parts).toEqual(['cli', 'platform', 'temporal', 'tenancy']);
  // It came as far as the database.
  expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'not_found' } });
});

test('migrate loads what executes migrations, and the client of Temporal only where there is a server', async () => {
  const { packages } = await loadedBy(['migrate']);
  expect(packages).toContain('@mikro-orm/migrations');
  expect(packages.filter((name) => name.startsWith('@temporalio/'))).toEqual([]);
});

test('what commands know of the parts is what the parts declare', () => {
  const known = ({ limits, findable, sealed, events, auditActions }: typeof catalog) => ({
    limits: limits.map(({ name }) => name).toSorted(),
    findable: findable.map(({ kind }) => kind).toSorted(),
    sealed: sealed.map(({ table }) => table).toSorted(),
    events: [...events.keys()].toSorted(),
    auditActions: [...auditActions.keys()].toSorted(),
  });
  expect(known(declared)).toEqual(known(catalog));
});
