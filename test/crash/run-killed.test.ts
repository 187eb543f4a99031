import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { readLocalSettings } from '../../src/platform/env.ts';
import { endProcessesOf, processesOf } from '../leftovers.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Stands in the environment, the arguments or the working folder of all that the inner run starts. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(runningServers().folder, 'killed-run-'));
});
afterAll(() => endProcessesOf(folder));

const commands = () =>
  processesOf(folder).flatMap(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
    } catch {
      return [];
    }
  });
const count = (pattern: RegExp) => commands().filter((command) => pattern.test(command)).length;

test('a run of the tests that is killed leaves no process and no file behind', async () => {
  const options = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const program = join(root, 'node_modules/jest/bin/jest.js');
  // One of them starts a PostgreSQL and a Temporal of its own, beside those of the run.
  const files = ['test/deep/operations/outage.test.ts', 'test/tenancy/usage.test.ts'];
  const isInTheMiddle = () =>
    count(/postgres -D /) === 2 && count(/temporal server start-dev/) === 2 && count(/workers\/main\.ts/) > 0;
  // A busy machine may look too late: then another run is started.
  await until('a run is killed in the middle of its tests', async () => {
    const run = spawn(process.execPath, [...options, program, '--maxWorkers=2', ...files], {
      cwd: root,
      env: { ...readLocalSettings().parentEnvironment, NODE_OPTIONS: '', TMPDIR: folder },
      stdio: 'ignore',
    });
    const ended = once(run, 'exit');
    const isOver = () => run.exitCode !== null;
    await until('the run is in the middle of its tests, or over', async () => isInTheMiddle() || isOver(), 180_000);
    if (isOver()) return false;
    run.kill('SIGKILL');
    await ended;
    return true;
  });
  await until('its processes are gone', async () => commands().length === 0);
  await until('its files are gone', async () => !readdirSync(folder).some((name) => name.startsWith('atelier-test-')));
  expect(readdirSync(folder).filter((name) => name.startsWith('atelier-'))).toEqual([]);
});
