import type { Command } from 'commander';
import { describeRun } from '../services.ts';
import type { WithDatabase } from './with-database.ts';

/** `run show`. */
export function addRunCommands(program: Command, withDatabase: WithDatabase): void {
  const run = program.command('run').description('runs of all organizations');
  run
    .command('show <id>')
    .description('show a run, its steps, and why it failed')
    .option('--json', 'print one JSON document')
    .action((id, { json }) => withDatabase((database) => describeRun(database, id), { json }));
}
