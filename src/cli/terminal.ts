import { createInterface } from 'node:readline/promises';
import { readLocalSettings } from '../platform/env.ts';
import { runCommand } from './run-command.ts';

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

/** Executes a command with the environment and the streams of this process. @returns the exit code */
export const runInTerminal = (args: string[]): Promise<number> =>
  runCommand(args, {
    variables: readLocalSettings().parentEnvironment,
    print: (text) => console.log(text),
    printError: (text) => console.error(text),
    ask: process.stdin.isTTY ? ask : undefined,
  });
