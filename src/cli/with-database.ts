import type { Database } from '../platform/database/database.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import { requireServerVersionAt } from '../platform/database/server-version.ts';
import { EnvError, type Variables } from '../platform/env.ts';
import { findServers, findSettings } from './servers.ts';

/** The environment and the output of a command. */
export interface Terminal {
  variables: Variables;
  print(text: string): void;
  printError(text: string): void;
  /** Asks the operator for a line; absent where there is no terminal. */
  ask?: ((question: string) => Promise<string>) | undefined;
}

interface Output {
  json?: boolean;
}

/**
 * Opens the database, does the work, prints the result and always closes the database. The work gets the settings of
 * the installation of the database: the environment, or the settings of the running local stack.
 */
export type WithDatabase = (
  work: (database: Database, settings: Variables) => Promise<object>,
  output: Output,
) => Promise<void>;

/** What commands work with. */
export interface CommandContext extends Pick<Terminal, 'ask'> {
  withDatabase: WithDatabase;
}

export function withDatabaseOf({ variables, print }: Pick<Terminal, 'variables' | 'print'>): WithDatabase {
  return async (work, output) => {
    const settings = await findSettings(variables);
    if (settings.PLAN_LIMITS) await overridePlans(settings);
    const { databaseUrl } = findServers(settings);
    const database = await openDatabase({ url: databaseUrl, poolSize: 2, entities: [] });
    try {
      // If the server does not answer or does not know the login, the command says so: `migrate` creates the login.
      await requireServerVersionAt(databaseUrl).catch((error) => {
        if (error instanceof EnvError) throw error;
      });
      print(render(await work(database, settings), output));
    } finally {
      await database.close();
    }
  };
}

/** The parts declare the limits. */
async function overridePlans(settings: Variables): Promise<void> {
  const [{ applyPlanLimits }] = await Promise.all([
    import('../tenancy/plans/plan-limits.ts'),
    import('../platform/parts/declared-parts.ts'),
  ]);
  applyPlanLimits(settings);
}

/** With `--json` one JSON document, otherwise one line per field. */
function render(result: object, { json }: Output): string {
  if (json) return JSON.stringify(result);
  return Object.entries(result)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value, null, 2) : value}`)
    .join('\n');
}
