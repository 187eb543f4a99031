import { Console } from 'node:console';
import { enableCompileCache } from 'node:module';
import { ask } from '../src/cli/ask.ts';
import { EnvError, readLocalSettings } from '../src/platform/env.ts';
import { openDataFolder } from './data-folder.ts';
import { resetDataFolder } from './reset.ts';
import { readStartOptions, type StartOptions, usage } from './start-options.ts';

/** The local stack. */
async function start({ json, reset, yes }: StartOptions): Promise<number> {
  const settings = readLocalSettings();
  // Set before other modules are imported, because their output must not be on standard output.
  if (json) globalThis.console = new Console(process.stderr);
  // Files of the servers are readable only by their owner.
  process.umask(0o077);
  if (reset) {
    const isReset = await resetDataFolder(settings.dataFolder, {
      ask: process.stdin.isTTY ? ask : undefined,
      isConfirmed: yes,
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

function optionsOrExit(): StartOptions {
  try {
    return readStartOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

const options = optionsOrExit();
if (options.help) {
  process.stdout.write(usage);
  process.exit(0);
}
try {
  process.exit(await start(options));
} catch (error) {
  process.stderr.write(`${error instanceof EnvError ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}
