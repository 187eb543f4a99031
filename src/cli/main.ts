import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Enabled before other modules are imported, so that they are cached: compiling them takes longer than most commands.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url)));
const { runInTerminal } = await import('./terminal.ts');

const exitCode = await runInTerminal(process.argv.slice(2));
if (exitCode !== 0) process.exit(exitCode);
