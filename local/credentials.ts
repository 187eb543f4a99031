import { readJson, writePrivateJson } from './private-file.ts';

/** Keys of the organization Demo. They are created by the first start and printed by every start. */
export interface Credentials {
  organizationId: string;
  testKey: string;
  liveKey: string;
}

/** The operations of tenancy, bound to a database. */
export interface Accounts {
  organizationExists(id: string): Promise<boolean>;
  createOrganization(input: { name: string; plan: string }): Promise<{ id: string }>;
  createKey(input: { organizationId: string; environment: string; name: string }): Promise<{ key: string }>;
}

/**
 * Reads the credentials from the file at `path`. Creates them if the file is missing, or if the database does not contain
 * their organization (because it was reset or is a different one).
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
