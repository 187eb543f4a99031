import { Console } from 'node:console';
import { enableCompileCache } from 'node:module';
import { ask } from '../src/cli/ask.ts';
import { EnvError, readLocalSettings } from '../src/platform/env.ts';
import { openDataFolder } from './data-folder.ts';
import { resetDataFolder } from './reset.ts';

/** `npm start [-- --json] [-- --reset [--yes]]`: the local stack. */
async function main(): Promise<number> {
  const settings = readLocalSettings();
  const json = process.argv.includes('--json');
  // Set before other modules are imported, because their output must not be on standard output.
  if (json) globalThis.console = new Console(process.stderr);
  // Files of the servers are readable only by their owner.
  process.umask(0o077);
  if (process.argv.includes('--reset')) {
    const isReset = await resetDataFolder(settings.dataFolder, {
      ask: process.stdin.isTTY ? ask : undefined,
      isConfirmed: process.argv.includes('--yes'),
      log: (line) => void process.stderr.write(`${line}\n`),
      now: new Date(),
    });
    if (!isReset) return 0;
  }
  // Enabled before other modules are imported, so that they are cached.
  enableCompileCache(openDataFolder(settings.dataFolder).compileCache);
  const [{ runStack }, { product }] = await Promise.all([import('./run.ts'), import('./product.ts')]);
  return runStack({ settings, product, json });
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`${error instanceof EnvError ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}
