import type { Command } from 'commander';
import { findWork, showWork } from '../operations/find.ts';
import { declared } from '../platform/parts/declared-parts.ts';
import type { CommandContext, WithDatabase } from './with-database.ts';

const json = ['--json', 'print one JSON document'] as const;

/** `find`. */
export function addFindCommand(find: Command, { withDatabase }: CommandContext): void {
  find
    .option(...json)
    .action((id, options) => withDatabase((database) => findWork(database, declared.findable, id), options));
}

/** `show` of a kind of work that a part declares. @throws Error for a kind that none declares */
export function addShowCommand(group: Command, kind: string, withDatabase: WithDatabase): void {
  const rows = declared.findable.find((one) => one.kind === kind);
  if (!rows) throw new Error(`No part declares ${kind}.`);
  group
    .command('show <id>')
    .description('show its state, the reason, its workflow and its ledger entries')
    .option(...json)
    .action((id, options) => withDatabase((database) => showWork(database, rows, id), options));
}

/** A group with `show` for every kind of work that has no group yet. */
export function addFoundKinds(program: Command, { withDatabase }: CommandContext): void {
  const known = program.commands.map((command) => command.name());
  for (const { kind } of declared.findable.filter((rows) => !known.includes(rows.kind))) {
    const words = kind.replaceAll(/[-_]/g, ' ');
    const one = /^[aeiou]/.test(words) ? `an ${words}` : `a ${words}`;
    addShowCommand(program.command(kind).description(`${one} of any organization`), kind, withDatabase);
  }
}
