import { readLocalSettings } from '../platform/env.ts';
import { ask } from './ask.ts';
import { runCommand } from './run-command.ts';

/** Executes a command with the environment and the streams of this process. @returns the exit code */
export const runInTerminal = (args: string[]): Promise<number> =>
  runCommand(args, {
    variables: readLocalSettings().parentEnvironment,
    print: (text) => console.log(text),
    printError: (text) => console.error(text),
    ask: process.stdin.isTTY ? ask : undefined,
  });
