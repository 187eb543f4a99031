import { Console } from 'node:console';
import { enableCompileCache } from 'node:module';
import { EnvError, readLocalSettings } from '../src/platform/env.ts';
import { openDataFolder } from './data-folder.ts';

/** `npm start [-- --json]`: the whole product on one machine. */
async function main(): Promise<number> {
  const settings = readLocalSettings();
  const json = process.argv.includes('--json');
  // Before the rest is imported: a library that prints must not spoil the one line.
  if (json) globalThis.console = new Console(process.stderr);
  // What the servers below write is nobody else's to read.
  process.umask(0o077);
  // Before the rest is imported, so that a warm start finds it compiled.
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
