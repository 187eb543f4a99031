import { type Command, InvalidArgumentError } from 'commander';
import type { Database } from '../platform/database/database.ts';
import { Scope } from '../platform/database/scope.ts';
import { Egress } from '../platform/egress/egress.ts';
import { egressRules } from '../platform/egress/egress-destination.ts';
import { EnvError, readGuardSettings, readSealingKeysIfGiven } from '../platform/env.ts';
import { AppError, type FieldError, invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { SealError, Sealer } from '../platform/security/crypto.ts';
import type { Environment } from '../platform/tenant.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { findOrganization } from '../tenancy/organizations.ts';
import { listToolServers, putToolServer, removeToolServer, type ToolServerView } from '../tools/configurations.ts';
import type { CommandContext } from './with-database.ts';

interface Whose {
  org: string;
  env: string;
}

/** Collects `name=value` of an option that may be given several times. */
function collect(pair: string, before: Record<string, string> = {}): Record<string, string> {
  const at = pair.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected name=value.');
  return { ...before, [pair.slice(0, at)]: pair.slice(at + 1) };
}

/** @throws AppError validation_error, not_found: no such organization */
async function scopeOf(database: Database, { org, env }: Whose): Promise<Scope> {
  if (env !== 'live' && env !== 'test')
    throw invalid([{ path: 'env', message: 'Expected test or live.' }], 'env: Expected test or live.');
  const { id } = await findOrganization(database, org);
  return new Scope(database, { organizationId: id, environment: env as Environment }, newId(), 'operator');
}

const view = ({ tenant }: Scope, { id, enabled, url, values, secrets, updatedAt }: ToolServerView) => ({
  organizationId: organizationIds.format(tenant.organizationId),
  environment: tenant.environment,
  server: id,
  enabled,
  url,
  values,
  secrets,
  updatedAt,
});

/** A command prints a message alone, so it names the fields; a server that does not exist is a wrong argument here. */
function asAppError(error: unknown): unknown {
  if (error instanceof SealError) return new EnvError(error.message);
  if (!(error instanceof AppError)) return error;
  if (error.kind === 'not_found' && error.facts?.serverId !== undefined) {
    return invalid([{ path: 'server', message: error.message }], `server: ${error.message}`);
  }
  const errors = error.facts?.errors as FieldError[] | undefined;
  return errors ? invalid(errors, errors.map(({ path, message }) => `${path}: ${message}`).join(' ')) : error;
}

async function asCommand<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw asAppError(error);
  }
}

/** `--secret name=-` reads the secret from standard input, so that it is in no list of processes. */
async function readSecrets(given: Record<string, string> | undefined) {
  const fromInput = Object.entries(given ?? {}).filter(([, value]) => value === '-');
  if (fromInput.length > 1) throw invalid([], 'Only one secret can be read from standard input.');
  if (!given || fromInput.length === 0) return given;
  return { ...given, [fromInput[0]![0]]: (await readStandardInput()).replace(/\r?\n$/, '') };
}

async function readStandardInput(): Promise<string> {
  let text = '';
  for await (const piece of process.stdin.setEncoding('utf8')) text += piece;
  return text;
}

const json = ['--json', 'print one JSON document'] as const;
const environment = ['--env <environment>', 'test or live', 'live'] as const;

/** `tools configure`, `tools list` and `tools remove`. */
export function addToolCommands(tools: Command, { withDatabase }: CommandContext): void {
  tools
    .command('configure')
    .description('configure a tool server; omitted values stay unchanged')
    .requiredOption('--org <id>')
    .requiredOption('--server <id>')
    .option(...environment)
    .option('--url <url>', "a server of the organization's own")
    .option('--set <name=value>', 'a value; can be repeated', collect)
    .option('--secret <name=value>', 'a secret, `-` reads it from standard input; can be repeated', collect)
    .option('--disable', 'keep it, and offer it to no message')
    .option(...json)
    .action(({ org, env, server, url, set: values, secret, disable, json: asJson }) =>
      withDatabase(
        async (database, settings) => {
          const services = {
            sealer: new Sealer(readSealingKeysIfGiven(settings)),
            egress: new Egress(egressRules(readGuardSettings(settings))),
          };
          const scope = await scopeOf(database, { org, env });
          const change = { enabled: !disable, url, values, secrets: await readSecrets(secret) };
          return view(scope, await asCommand(putToolServer(services, scope, server, change)));
        },
        { json: asJson },
      ),
    );
  tools
    .command('list')
    .requiredOption('--org <id>')
    .option(...environment)
    .option(...json)
    .action((options) =>
      withDatabase(async (database) => ({ servers: await listToolServers(await scopeOf(database, options)) }), options),
    );
  tools
    .command('remove')
    .description('forget how a tool server is configured; its files stay')
    .requiredOption('--org <id>')
    .requiredOption('--server <id>')
    .option(...environment)
    .option(...json)
    .action((options) =>
      withDatabase(async (database) => {
        await asCommand(removeToolServer(await scopeOf(database, options), options.server));
        return { removed: true };
      }, options),
    );
}
