import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/cli/run-command.ts';
import { compileCache } from '../servers.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const program = join(project, 'src/cli/main.ts');

/** What became of a program. */
export interface Outcome {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export function runProgram(file: string, args: string[], env: NodeJS.ProcessEnv, cwd = project): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(file, args, { env, cwd }, (error, stdout, stderr) =>
      resolve({ exitCode: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

/** Runs an operator's command as a process of its own. */
export const spawnCli = (args: string[], env: Record<string, string>, cwd?: string): Promise<Outcome> =>
  runProgram(process.execPath, [program, ...args], { NODE_COMPILE_CACHE: compileCache, ...env }, cwd);

/** Runs an operator's command in this process, with an environment of its own: a start costs more than most commands. */
export async function runCli(args: string[], variables: Record<string, string>): Promise<Outcome> {
  const written = { stdout: '', stderr: '' };
  const exitCode = await runCommand(args, {
    variables,
    print: (text) => {
      written.stdout += `${text}\n`;
    },
    printError: (text) => {
      written.stderr += `${text}\n`;
    },
  });
  return { exitCode, ...written };
}
