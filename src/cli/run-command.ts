import { Command, CommanderError } from 'commander';
import { EnvError } from '../platform/env.ts';
import { AppError } from '../platform/errors.ts';
import { CommandFailure } from './command-failure.ts';
import { commandGroups } from './command-groups.ts';
import { type Terminal, withDatabaseOf } from './with-database.ts';

function describe(error: unknown): { code: string; message: string; details?: object | undefined } {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  if (error instanceof CommandFailure) return { code: error.code, message: error.message, details: error.details };
  if (error instanceof EnvError) return { code: 'environment', message: error.message };
  if (error instanceof CommanderError) {
    // Commander throws this instead of an error when it would only print its help.
    const noCommand = error.code === 'commander.help';
    const message = noCommand ? 'A command is missing. --help lists them.' : error.message.replace(/^error: /, '');
    return { code: 'validation_error', message };
  }
  return { code: 'internal_error', message: `Unexpected: ${error instanceof Error ? error.message : error}` };
}

/** The program with the commands of the group that the arguments name; the other groups are only listed. */
async function commandsFor(args: string[], { variables, print, ask }: Terminal): Promise<Command> {
  const context = { withDatabase: withDatabaseOf({ variables, print }), ask };
  // Standard error contains exactly one JSON document, so Commander's own messages are suppressed.
  const program = new Command('atelier')
    .description('Commands for operators.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => print(text.trimEnd()), writeErr: () => {} });
  // `help org` is `org --help`.
  const named = args.find((arg) => !arg.startsWith('-') && arg !== 'help');
  let isKnown = false;
  for (const { name, description, load } of commandGroups) {
    const group = program.command(name).description(description);
    if (group.name() !== named) continue;
    isKnown = true;
    (await load())(group, context);
  }
  if (!isKnown) (await import('./find.ts')).addFoundKinds(program, context);
  return program;
}

/** Executes one command. A failure is printed as one JSON document with `printError`. @returns the exit code */
export async function runCommand(args: string[], terminal: Terminal): Promise<number> {
  try {
    const program = await commandsFor(args, terminal);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    terminal.printError(JSON.stringify({ error: describe(error) }));
    return 1;
  }
}
