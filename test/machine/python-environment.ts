import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { shellEnvironment } from '../local-stack/stack-folder.ts';

const run = promisify(execFile);

/** A copy of a folder of Python programs, with the packages of its `requirements.txt`. */
export interface PythonEnvironment {
  folder: string;
  /** Runs a program in the folder. Its output is in the error of one that fails. */
  run(program: string, ...args: string[]): Promise<{ stdout: string; stderr: string }>;
  remove(): Promise<void>;
}

/** Installs the packages. A registry may be far away. */
export async function openPythonEnvironment(programs: URL): Promise<PythonEnvironment> {
  const folder = await mkdtemp(join(tmpdir(), 'python-'));
  await cp(programs, folder, { recursive: true });
  const shell = shellEnvironment();
  const env = { ...shell, PATH: [join(folder, 'environment/bin'), shell.PATH].join(delimiter) };
  const inFolder: PythonEnvironment['run'] = (program, ...args) =>
    run(program, args, { cwd: folder, env, maxBuffer: 16 * 1024 * 1024 }).catch((error) => {
      throw new Error(`${program} ${args.join(' ')} failed: ${error.stdout}${error.stderr}`);
    });
  await inFolder('python3', '-m', 'venv', 'environment');
  await inFolder('pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', 'requirements.txt');
  return { folder, run: inFolder, remove: () => rm(folder, { recursive: true, force: true }) };
}
