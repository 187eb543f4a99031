import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const commitPattern = /^[0-9a-f]{7,64}$/;

/**
 * The commit of the sources in a folder: of the file COMMIT, which the build of an image writes, else of the checkout.
 * `unknown` where the folder has neither, or there is no git.
 */
export async function commitOf(folder = root): Promise<string> {
  const written = (await readFile(join(folder, 'COMMIT'), 'utf8').catch(() => '')).trim();
  if (commitPattern.test(written)) return written;
  if (!existsSync(join(folder, '.git'))) return 'unknown';
  try {
    const { stdout } = await promisify(execFile)('git', ['rev-parse', 'HEAD'], { cwd: folder });
    return stdout.trim();
  } catch {
    return 'unknown';
  }
}
