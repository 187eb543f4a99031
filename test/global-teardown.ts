import { readFileSync, rmSync } from 'node:fs';
import { type Servers, serversFile, stopServers } from './servers.ts';

/** Stops what set-up started and leaves nothing behind. */
export default async function tearDown(): Promise<void> {
  await stopServers();
  const file = serversFile(process.pid);
  const { folder }: Servers = JSON.parse(readFileSync(file, 'utf8'));
  rmSync(folder, { recursive: true, force: true });
  rmSync(file, { force: true });
}
