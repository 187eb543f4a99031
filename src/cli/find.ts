import type { Command } from 'commander';
import { findWork, showWork } from '../operations/find.ts';
import { catalog } from '../services.ts';
import type { WithDatabase } from './with-database.ts';

const json = ['--json', 'print one JSON document'] as const;

/** `find`, and `show` of every kind of work that a part declares. */
export function addFindCommands(program: Command, withDatabase: WithDatabase): void {
  program
    .command('find <id>')
    .description('find work of all organizations by an id, a correlation id, or the id of a workflow in Temporal')
    .option(...json)
    .action((id, options) => withDatabase((database) => findWork(database, catalog.findable, id), options));
  for (const rows of catalog.findable) {
    const { kind } = rows;
    const group =
      program.commands.find((command) => command.name() === kind) ??
      program.command(kind).description(`each ${kind} of all organizations`);
    // A part may have a command of its own that says more.
    if (group.commands.some((command) => command.name() === 'show')) continue;
    group
      .command('show <id>')
      .description('show its state, the reason, its workflow and its ledger entries')
      .option(...json)
      .action((id, options) => withDatabase((database) => showWork(database, rows, id), options));
  }
}
