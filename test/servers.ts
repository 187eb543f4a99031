import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The servers that every test file of one run shares. */
export interface Servers {
  folder: string;
  /** Of the database `postgres`, where others are made. */
  adminUrl: string;
  /** A migrated database that is cloned for each test file. */
  template: string;
  temporalAddress: string;
  bundles: string;
}

/** Where the run's first process says what it started. Test files run in its children, or in itself. */
export const serversFile = (pid: number) => join(tmpdir(), `atelier-test-${pid}.json`);

export function runningServers(): Servers {
  const file = [process.pid, process.ppid].map(serversFile).find(existsSync);
  if (!file) throw new Error('The test servers are not running: start tests with "npm test".');
  return JSON.parse(readFileSync(file, 'utf8'));
}

let stopper: (() => Promise<void>) | undefined;

/** Hands what set-up started to tear-down, which runs in the same process. */
export function keepStopper(stop: () => Promise<void>): void {
  stopper = stop;
}

export async function stopServers(): Promise<void> {
  await stopper?.();
}
