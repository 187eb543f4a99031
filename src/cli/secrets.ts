import type { Command } from 'commander';
import type { Database } from '../platform/database/database.ts';
import { readSealingKeys, type Variables } from '../platform/env.ts';
import { declared } from '../platform/parts/declared-parts.ts';
import { Sealer } from '../platform/security/crypto.ts';
import { type Resealed, reseal, type UnreadableValue } from '../platform/security/reseal.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { CommandFailure } from './command-failure.ts';
import type { CommandContext } from './with-database.ts';

const view = ({ organizationId, ...value }: UnreadableValue) => ({
  table: value.table,
  column: value.column,
  id: value.id,
  organizationId: organizationIds.format(organizationId),
  environment: value.environment,
  reason: value.reason,
});

/** Values that cannot be opened. All others were resealed. */
function unreadableSecrets({ resealed, unreadable }: Resealed): CommandFailure {
  const message = `${unreadable.length} values cannot be opened, and ${resealed} were resealed. ${unreadable[0]?.reason}`;
  return new CommandFailure('secrets_unreadable', message, { resealed, unreadable: unreadable.map(view) });
}

/** @throws CommandFailure where a value cannot be opened; EnvError when the keys are missing or malformed */
async function resealAll(database: Database, settings: Variables): Promise<object> {
  const done = await reseal(database, new Sealer(readSealingKeys(settings)), declared.sealed);
  if (done.unreadable.length > 0) throw unreadableSecrets(done);
  return { resealed: done.resealed };
}

/** `secrets reseal`. */
export function addSecretCommands(secrets: Command, { withDatabase }: CommandContext): void {
  secrets
    .command('reseal')
    .description(
      'encrypt all secrets with the first key of SEALING_KEYS, so that the others can be removed; lists those that no key opens',
    )
    .option('--json', 'print one JSON document')
    .action((options) => withDatabase(resealAll, options));
}
