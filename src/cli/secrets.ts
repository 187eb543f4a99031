import type { Command } from 'commander';
import { Sealer } from '../platform/crypto.ts';
import type { Database } from '../platform/database.ts';
import { readSealingKeys, type Variables } from '../platform/env.ts';
import { type Resealed, reseal, type UnreadableValue } from '../platform/reseal.ts';
import { catalog } from '../services.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import type { WithDatabase } from './with-database.ts';

const view = ({ organizationId, ...value }: UnreadableValue) => ({
  table: value.table,
  column: value.column,
  id: value.id,
  organizationId: organizationIds.format(organizationId),
  environment: value.environment,
  reason: value.reason,
});

/** Thrown when values cannot be opened. All others were resealed. */
export class UnreadableSecrets extends Error {
  override name = 'UnreadableSecrets';
  readonly details: object;

  constructor({ resealed, unreadable }: Resealed) {
    const reasons = [...new Set(unreadable.map(({ reason }) => reason))];
    super(`${unreadable.length} values cannot be opened, and ${resealed} were resealed. ${reasons[0]}`);
    this.details = { resealed, unreadable: unreadable.map(view) };
  }
}

/** @throws UnreadableSecrets; EnvError when the keys are missing or malformed */
async function resealAll(database: Database, settings: Variables): Promise<object> {
  const done = await reseal(database, new Sealer(readSealingKeys(settings)), catalog.sealed);
  if (done.unreadable.length > 0) throw new UnreadableSecrets(done);
  return { resealed: done.resealed };
}

/** `secrets reseal`. */
export function addSecretCommands(program: Command, withDatabase: WithDatabase): void {
  program
    .command('secrets')
    .description('secrets stored in the database')
    .command('reseal')
    .description(
      'encrypt all secrets with the first key of SEALING_KEYS, so that the others can be removed; lists those that no key opens',
    )
    .option('--json', 'print one JSON document')
    .action((options) => withDatabase(resealAll, options));
}
