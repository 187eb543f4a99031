import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { latestAudit, verifyAudit } from '../../src/platform/security/audit.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let files: TestDatabase;
let database: Database;
let admin: pg.Client;
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
  admin = new pg.Client({ connectionString: files.ownerUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await database.close();
  await files.drop();
});

const sha256 = (...parts: (string | Uint8Array)[]) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
/** Without an entry of its own. */
async function newOrganization(): Promise<string> {
  const id = newId();
  await admin.query(
    "insert into organization (id, name, plan, created_at, updated_at) values ($1, 'Old', 'free', now(), now())",
    [id],
  );
  return id;
}
const position = (number: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(number);
  return bytes;
};

test('entries of the version before verify by its rule, and new ones by RFC 8785', async () => {
  const [organizationId, subjectId] = [await newOrganization(), newId()];
  const time = '2026-11-21T12:00:00.000Z';
  // The rule before: members sorted, but numbers first and by their value.
  const text = `{"action":"credits.grant","actor":"operator","correlationId":null,"environment":"test","facts":{"9":1,"10":2,"a":3},"organizationId":"${organizationId}","recordedAt":"${time}","subjectId":"${subjectId}"}`;
  const previous = Buffer.alloc(32);
  await admin.query(
    `insert into audit_log (organization_id, number, environment, action, subject_id, actor, correlation_id, facts,
                            recorded_at, previous_hash, hash)
     values ($1, 1, 'test', 'credits.grant', $2, 'operator', null, '{"a": 3, "10": 2, "9": 1}', $3, $4, $5)`,
    [organizationId, subjectId, time, previous, sha256(previous, position(1), sha256(text))],
  );
  const scope = new Scope(database, { organizationId, environment: 'test' }, 'correlation', 'operator');
  const facts = { é: 1, 10: 'ten', 9: 4.5e21, a: [true, null] };
  await scope.transaction((tx) => tx.audit({ action: 'credits.grant', subjectId, facts }));
  expect(await verifyAudit(database, organizationId)).toMatchObject({ entries: 2 });
  expect(await verifyAudit(database, organizationId)).not.toHaveProperty('broken');

  const [second, first] = await latestAudit(database, organizationId, 2);
  expect([first!.hashVersion, second!.hashVersion]).toEqual([1, 2]);
  // RFC 8785: names by their UTF-16 code units, numbers as ECMAScript writes them.
  const canonical = `{"action":"credits.grant","actor":"operator","correlationId":"correlation","environment":"test","facts":{"10":"ten","9":4.5e+21,"a":[true,null],"é":1},"hashVersion":2,"organizationId":"${organizationId}","recordedAt":"${second!.recordedAt.toISOString()}","subjectId":"${subjectId}"}`;
  expect(Buffer.from(second!.hash)).toEqual(sha256(first!.hash, position(2), sha256(canonical)));
});

test('the request that asked is part of what is verified', async () => {
  const organizationId = await newOrganization();
  const origin = { requestId: 'e6d5c1f0-8b7e-4a57-a3a6-0c8e9be5a001', ip: '2001:db8::7' };
  const asked = new Scope(database, { organizationId, environment: 'live' }, 'correlation', 'operator', origin);
  await asked.transaction((tx) => tx.audit({ action: 'credits.grant', subjectId: newId() }));
  const later = new Scope(database, { organizationId, environment: 'live' }, 'correlation');
  await later.audit({ action: 'credits.grant', subjectId: newId() });
  const [second, first] = await latestAudit(database, organizationId, 2);
  expect(first).toMatchObject({ ...origin, hashVersion: 3 });
  expect(second).toMatchObject({ requestId: null, ip: null, hashVersion: 2 });
  expect(await verifyAudit(database, organizationId)).toEqual({ entries: 2, lastHash: expect.any(String) });

  const forge = async (set: string, number: number) => {
    await admin.query('begin');
    await admin.query('alter table audit_log disable trigger only_grows');
    await admin.query(`update audit_log set ${set} where organization_id = $1 and number = $2`, [
      organizationId,
      number,
    ]);
    await admin.query('alter table audit_log enable trigger only_grows');
    await admin.query('commit');
    return (await verifyAudit(database, organizationId)).broken;
  };
  expect(await forge("ip = '198.51.100.1'", 1)).toBe(1);
  expect(await forge("ip = '2001:db8::7'", 1)).toBeUndefined();
  // An address that is added to an entry without one is no part of its hash, and is noticed all the same.
  expect(await forge("ip = '198.51.100.1'", 2)).toBe(2);
});

test('an entry that claims the other version is not what was written', async () => {
  const organizationId = await newOrganization();
  const scope = new Scope(database, { organizationId, environment: 'test' }, 'correlation', 'operator');
  await scope.transaction((tx) => tx.audit({ action: 'credits.grant', subjectId: newId(), facts: { amount: 1 } }));
  await admin.query('alter table audit_log disable trigger all');
  await admin.query('update audit_log set hash_version = 1 where organization_id = $1', [organizationId]);
  await admin.query('alter table audit_log enable trigger all');
  expect(await verifyAudit(database, organizationId)).toMatchObject({ entries: 0, broken: 1 });
});
