import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const program = fileURLToPath(new URL('../../api/openapi/print-openapi.ts', import.meta.url));

/** The document as `npm run openapi` prints it, without any server. */
export async function printDocument(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env: {}, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}
