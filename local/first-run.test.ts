import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Accounts, keepCredentials } from './credentials.ts';
import { writePrivateJson } from './private-file.ts';
import { keepSecrets } from './secrets.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atelier-first-run-'));
  path = join(folder, 'kept.json');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('secrets', () => {
  test('are made once, in the form the processes expect, for the owner alone', () => {
    const secrets = keepSecrets(path);
    expect(secrets.SEALING_KEYS).toMatch(/^k1:[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secrets.URL_SIGNING_KEY, 'base64')).toHaveLength(32);
    expect(Buffer.from(secrets.CRON_SECRET, 'base64url')).toHaveLength(32);
    expect(secrets.POSTGRES_PASSWORD).toMatch(/^[\w-]{32}$/);
    expect(secrets.APP_DATABASE_PASSWORD).toMatch(/^[\w-]{32}$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(keepSecrets(path)).toEqual(secrets);
  });

  test('that a newer version needs are added to those that are kept', () => {
    writePrivateJson(path, { SEALING_KEYS: 'k1:kept' });
    const secrets = keepSecrets(path);
    expect(secrets.SEALING_KEYS).toBe('k1:kept');
    expect(keepSecrets(path)).toEqual(secrets);
  });

  test('in a damaged file are not replaced', () => {
    writeFileSync(path, '{"SEALING_');
    expect(() => keepSecrets(path)).toThrow(`${path} is damaged`);
  });
});

describe('credentials', () => {
  /** Accounts in memory; `reset` is a database that forgot everything. */
  function accounts() {
    const organizations = new Set<string>();
    let made = 0;
    const bound: Accounts = {
      organizationExists: async (id) => organizations.has(id),
      createOrganization: async ({ name, plan }) => {
        made += 1;
        const id = `org_${name}_${plan}_${made}`;
        organizations.add(id);
        return { id };
      },
      createKey: async ({ organizationId, environment }) => ({ key: `sk_${environment}_of_${organizationId}` }),
    };
    return { bound, reset: () => organizations.clear() };
  }

  test('are made once, for an organization on plan team, and shown again', async () => {
    const { bound } = accounts();
    const credentials = await keepCredentials(path, bound);
    expect(credentials).toEqual({
      organizationId: 'org_Demo_team_1',
      testKey: 'sk_test_of_org_Demo_team_1',
      liveKey: 'sk_live_of_org_Demo_team_1',
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await keepCredentials(path, bound)).toEqual(credentials);
  });

  test('are made anew when the database does not know the organization', async () => {
    const { bound, reset } = accounts();
    await keepCredentials(path, bound);
    reset();
    expect((await keepCredentials(path, bound)).organizationId).toBe('org_Demo_team_2');
  });
});
