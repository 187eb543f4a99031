import { readJson, writePrivateJson } from './private-file.ts';

/** Of the organization Demo, made on the first start and shown on every one. */
export interface Credentials {
  organizationId: string;
  testKey: string;
  liveKey: string;
}

/** What the product's tenancy does, bound to a database. */
export interface Accounts {
  organizationExists(id: string): Promise<boolean>;
  createOrganization(input: { name: string; plan: string }): Promise<{ id: string }>;
  createKey(input: { organizationId: string; environment: string; name: string }): Promise<{ key: string }>;
}

/**
 * The credentials kept in the file at `path`. They are made when there are none, and made anew when the database does not
 * know their organization (it was reset, or is another one).
 */
export async function keepCredentials(path: string, accounts: Accounts): Promise<Credentials> {
  const kept = readJson(path) as Credentials | undefined;
  if (kept !== undefined && (await accounts.organizationExists(kept.organizationId))) return kept;
  const { id: organizationId } = await accounts.createOrganization({ name: 'Demo', plan: 'team' });
  const testKey = await accounts.createKey({ organizationId, environment: 'test', name: 'First test key' });
  const liveKey = await accounts.createKey({ organizationId, environment: 'live', name: 'First live key' });
  const credentials = { organizationId, testKey: testKey.key, liveKey: liveKey.key };
  writePrivateJson(path, credentials);
  return credentials;
}
