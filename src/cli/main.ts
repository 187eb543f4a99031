import { readLocalSettings } from '../platform/env.ts';
import { runCommand } from './run-command.ts';

const exitCode = await runCommand(process.argv.slice(2), {
  variables: readLocalSettings().parentEnvironment,
  print: (text) => console.log(text),
  printError: (text) => console.error(text),
});
if (exitCode !== 0) process.exit(exitCode);
