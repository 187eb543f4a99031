import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The commit that this checkout is at; `unknown` where the sources are no checkout, or git is not there. */
export async function commitOfCheckout(): Promise<string> {
  if (!existsSync(`${root}/.git`)) return 'unknown';
  try {
    const { stdout } = await promisify(execFile)('git', ['rev-parse', 'HEAD'], { cwd: root });
    return stdout.trim();
  } catch {
    return 'unknown';
  }
}
