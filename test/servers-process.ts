import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLocalSettings } from '../src/platform/env.ts';
import { compileCache, folderVariable, temporaryFolder } from './servers.ts';

const program = fileURLToPath(new URL('./run-servers.ts', import.meta.url));

/** What it loads is what the product's processes load: how Node resolves it is written down for them. */
const recorder = new URL('./runtime/record-resolutions.ts', import.meta.url).href;

let servers: ChildProcess | undefined;

/** Starts the process that owns the servers of this run, and waits until they are ready. */
export async function startServersProcess(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'atelier-test-'));
  mkdirSync(compileCache, { recursive: true });
  mkdirSync(temporaryFolder(folder));
  const { parentEnvironment: variables } = readLocalSettings();
  // Jest's workers start after this and inherit it.
  variables[folderVariable] = folder;
  servers = fork(program, {
    // Out of reach of a Ctrl-C or a kill that is meant for the whole group.
    detached: true,
    execArgv: ['--import', recorder],
    env: { ...variables, NODE_OPTIONS: '', NODE_COMPILE_CACHE: compileCache },
  });
  const ended = once(servers, 'exit').then(() => {
    throw new Error('The test servers did not start.');
  });
  await Promise.race([once(servers, 'message'), ended]);
  ended.catch(() => {});
  servers.unref();
  servers.channel?.unref();
}

/** Ends the servers and waits until nothing is left of them. */
export async function endServersProcess(): Promise<void> {
  if (!servers || servers.exitCode !== null) return;
  servers.ref();
  const ended = once(servers, 'exit');
  servers.disconnect();
  await ended;
}
