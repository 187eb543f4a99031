import { watchParent } from '../local/parent-watch.ts';
import { startServersProcess } from './servers-process.ts';

/** Starts one PostgreSQL and one Temporal server for the whole run. */
export default async function setUp(): Promise<void> {
  await startServersProcess();
  // npm killed with -9 sends no signal. The servers end with this process, however it ends.
  watchParent(() => process.exit(1));
}
