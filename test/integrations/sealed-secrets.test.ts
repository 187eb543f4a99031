import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { listConnections } from '../../src/integrations/connections/find-connection.ts';
import { openSandboxSecret } from '../../src/integrations/connections/sandbox-account.ts';
import { integrations } from '../../src/integrations/part.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import { reseal } from '../../src/platform/security/reseal.ts';
import { newTenant } from '../connections/scene.ts';
import { secrets } from '../operator.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { addConnection } from './connection-rows.ts';

let files: TestDatabase;
let database: Database;
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
});
afterAll(async () => {
  await database.close();
  await files.drop();
});

test('the secrets of sandbox accounts are sealed anew with another key, each for its own connection', async () => {
  const scope = await newTenant(database, 'test');
  const of = { ...scope.tenant, integration: 'slack', accountId: '1', secret: 'the secret' };
  const id = await addConnection(database, of);
  const newKey = `k2:${randomBytes(32).toString('base64')}`;
  const both = new Sealer(`${newKey},${secrets.SEALING_KEYS}`);
  const sealedNow = async () => (await listConnections(scope))[0]!.sealedSandboxSecret!;
  expect(openSandboxSecret(both, await sealedNow(), id, scope.tenant)).toBe('the secret');
  expect(await reseal(database, both, integrations.sealed!)).toEqual({ resealed: 1, unreadable: [] });
  expect(await reseal(database, both, integrations.sealed!)).toEqual({ resealed: 0, unreadable: [] });
  const sealed = await sealedNow();
  const renewed = new Sealer(newKey);
  expect(openSandboxSecret(renewed, sealed, id, scope.tenant)).toBe('the secret');
  expect(() => openSandboxSecret(renewed, sealed, randomUUID(), scope.tenant)).toThrow();
  expect(() => openSandboxSecret(renewed, sealed, id, { ...scope.tenant, environment: 'live' })).toThrow();
});
