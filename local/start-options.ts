import { parseArgs } from 'node:util';

export const usage = `Usage: npm start [-- <options>]

Starts Atelier with its servers, and stops everything on Ctrl-C.

  --json    Write one line of JSON to standard output when it is ready; everything else goes to standard error.
  --reset   Move the data folder aside first, and begin with empty data. Asks before.
  --yes     With --reset: do not ask.
  --help    Show this text.

Settings are environment variables: see .env.example.
`;

export interface StartOptions {
  json: boolean;
  reset: boolean;
  yes: boolean;
  help: boolean;
}

/** The options of the command line. @throws TypeError for an unknown one, with its name */
export function readStartOptions(args: readonly string[]): StartOptions {
  const flag = { type: 'boolean', default: false } as const;
  return parseArgs({ args: [...args], options: { json: flag, reset: flag, yes: flag, help: flag } }).values;
}
