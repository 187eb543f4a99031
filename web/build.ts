import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/**
 * Builds the console into `web/dist`, with each text file compressed beside itself, unless the present build has the
 * same sources. Another process may build at the same time: a finished build is moved into its place as a whole.
 */

const folder = import.meta.dirname;
const dist = join(folder, 'dist');
const stampName = '.sources';

/** Identifies all sources of a build. */
function hashOfSources(): string {
  const hash = createHash('sha256');
  const root = join(folder, '..');
  const sources = globSync(
    ['web/src/**/*.*', 'web/*.{ts,html,json}', 'sdk/typescript/src/**/*.ts', 'package-lock.json'],
    { cwd: root },
  );
  for (const file of sources.toSorted()) {
    hash.update(`${file}\0`);
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

async function compressFiles(built: string): Promise<void> {
  const texts = globSync('**/*.{js,css,html,svg}', { cwd: built });
  await Promise.all(
    texts.map(async (name) => {
      const file = join(built, name);
      const content = readFileSync(file);
      const brotli = await promisify(brotliCompress)(content, {
        params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
      });
      writeFileSync(`${file}.br`, brotli);
      writeFileSync(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
    }),
  );
}

const sources = hashOfSources();
const stamp = join(dist, stampName);
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== sources) {
  const { build } = await import('vite');
  const built = join(folder, `.dist-${process.pid}`);
  try {
    await build({
      configFile: join(folder, 'vite.config.ts'),
      logLevel: 'error',
      build: { outDir: built, emptyOutDir: true },
    });
    await compressFiles(built);
    writeFileSync(join(built, stampName), sources);
    rmSync(dist, { recursive: true, force: true });
    renameSync(built, dist);
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}
