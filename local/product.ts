import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { localOwner, localSignInPath } from '../src/accounts/local-owner.ts';
import { migrate } from '../src/platform/database/migrate.ts';
import { openDatabase } from '../src/platform/database/open-database.ts';
import { createKey } from '../src/tenancy/keys.ts';
import { createOrganization, organizationExists } from '../src/tenancy/organizations.ts';
import { prepareBundle } from '../workers/bundle.ts';
import { roleNames } from '../workers/roles.ts';
import { keepCredentials } from './credentials.ts';
import type { DatabaseLogins, PreparedDatabase, Product } from './stack.ts';

/** The product of the local stack: all roles in one process, which share a connection to Temporal. */
export const product: Product = { roles: roleNames, prepareBundle, buildConsole, prepareDatabase };

/** A process of its own: the bundler's memory goes with it. */
async function buildConsole(): Promise<void> {
  await promisify(execFile)(process.execPath, [fileURLToPath(new URL('../web/build.ts', import.meta.url))]);
}

async function prepareDatabase({ ownerUrl, url }: DatabaseLogins, credentialsFile: string): Promise<PreparedDatabase> {
  const database = await openDatabase({ url, poolSize: 2, entities: [] });
  try {
    await migrate(database, ownerUrl);
    const credentials = await keepCredentials(credentialsFile, {
      organizationExists: (id) => organizationExists(database, id),
      createOrganization: (input) => createOrganization(database, input),
      createKey: (input) => createKey(database, input),
    });
    const signInPath = await localSignInPath(database, credentials.organizationId);
    return { credentials, signInPath, ownerEmail: localOwner.email };
  } finally {
    await database.close();
  }
}
