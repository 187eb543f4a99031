import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from 'pg';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { acceptInvitation, invite } from '../../src/accounts/invitations.ts';
import { createLink, redeemLink } from '../../src/accounts/links.ts';
import { userOfIdentity } from '../../src/accounts/oidc-identities.ts';
import { forgetUnproved } from '../../src/accounts/people.ts';
import { Sessions } from '../../src/accounts/sessions.ts';
import { Background } from '../../src/platform/concurrency/background.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { sqlOn } from '../../src/platform/database/sql.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { whileHeld } from '../hold-lock.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { until } from '../until.ts';
import { newEmail } from './people.ts';

// Transactions of two people or processes, each at the one place where the other one is met.

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

const times = accountTimes();
const entry = { origin: { requestId: 'r', ip: '203.0.113.1' } };

const newOrganization = async () =>
  organizationIds.parse((await createOrganization(database, { name: 'Ada & Co', plan: 'free' })).id)!;
const inviteTo = (organizationId: string, email: string) =>
  invite(database, { organizationId, email, role: 'member' }, { actor: 'operator' }, { times });

async function openLink(email: string): Promise<void> {
  const { token } = await createLink(sqlOn(database.pool), email, times);
  expect(await redeemLink(database, token, entry)).toBeDefined();
}
async function signInAtProvider(email: string): Promise<void> {
  const identity = { issuer: 'https://login.example.com', subject: email, email, isEmailVerified: true, name: '' };
  expect(await userOfIdentity(database, identity, entry)).toMatchObject({ userId: expect.any(String) });
}

async function organizationsOf(email: string): Promise<string[]> {
  const { rows } = await database.pool.query(
    `select m."organizationId" as id from auth."member" m join auth."user" u on u.id = m."userId"
      where u.email = $1 order by 1`,
    [email],
  );
  return rows.map(({ id }) => id);
}

/** Waits until so many of the product's transactions wait for a lock. */
const untilWaiting = (holder: Client, count = 1) =>
  until(`${count} wait`, async () => {
    // A transaction sees the activity of its first look otherwise.
    await holder.query('select pg_stat_clear_snapshot()');
    const { rowCount } = await holder.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rowCount === count;
  });

const auditOf = (organizationId: string) => `hashtextextended('audit ${organizationId}', 0)`;

describe('who accepts invitations', () => {
  type Enter = (email: string) => Promise<void>;
  const begins: [string, Enter, Enter][] = [
    ['by a link', openLink, openLink],
    ['at the provider for the first time', openLink, signInAtProvider],
    ['at the provider again', signInAtProvider, signInAtProvider],
  ];
  // An invitation's own link locks it, and then its person.
  test.each(begins)('%s locks them before the person', async (_, first, again) => {
    const [email, organizationId] = [newEmail(), await newOrganization()];
    const { token } = await inviteTo(organizationId, email);
    await acceptInvitation(database, token);
    await first(email);
    const other = await newOrganization();
    await inviteTo(other, email);
    const entering = await whileHeld(
      files,
      `select from auth."invitation" where email = '${email}' and status = 'pending' for update`,
      async (holder) => {
        const entered = again(email);
        await untilWaiting(holder);
        const { rowCount } = await holder.query(`select from auth."user" where email = $1 for update nowait`, [email]);
        expect(rowCount).toBe(1);
        return { entered };
      },
    );
    await entering.entered;
    expect(await organizationsOf(email)).toEqual([organizationId, other].toSorted());
  });

  test('writes the audit logs in the order of the organizations, whichever invited first', async () => {
    const email = newEmail();
    const organizations = [await newOrganization(), await newOrganization()].toSorted();
    const [former, latter] = organizations as [string, string];
    await inviteTo(latter, email);
    await inviteTo(former, email);
    const entering = await whileHeld(files, `select pg_advisory_xact_lock(${auditOf(former)})`, async (holder) => {
      const entered = openLink(email);
      await untilWaiting(holder);
      const { rows } = await holder.query(`select pg_try_advisory_xact_lock(${auditOf(latter)}) as free`);
      expect(rows).toEqual([{ free: true }]);
      return { entered };
    });
    await entering.entered;
    expect(await organizationsOf(email)).toEqual(organizations);
  });
});

test('of two invitations of an address at the same moment one is open', async () => {
  const [email, organizationId] = [newEmail(), await newOrganization()];
  const inviting = await whileHeld(
    files,
    `select pg_advisory_xact_lock(${auditOf(organizationId)})`,
    async (holder) => {
      const invited = Promise.all([inviteTo(organizationId, email), inviteTo(organizationId, email)]);
      await untilWaiting(holder, 2);
      return { invited };
    },
  );
  await inviting.invited;
  const { rows } = await database.pool.query(`select status from auth."invitation" where email = $1 order by 1`, [
    email,
  ]);
  expect(rows).toEqual([{ status: 'canceled' }, { status: 'pending' }]);
});

/** Renews rows, and commits that once a sweep has met one of them. */
const sweepAgainst = async (renew: string, sweep: () => Promise<number>): Promise<number> => {
  const sweeping = await whileHeld(files, renew, async (holder) => {
    const swept = sweep();
    await untilWaiting(holder);
    await holder.query('commit');
    return { swept };
  });
  return sweeping.swept;
};

test('an account whose address is proved while unproved ones are removed stays', async () => {
  const email = newEmail();
  await database.pool.query(
    `insert into auth."user" (name, email, "emailVerified", "createdAt") values ('', $1, false, now() - interval '9 days')`,
    [email],
  );
  const removed = await sweepAgainst(`update auth."user" set "emailVerified" = true where email = '${email}'`, () =>
    forgetUnproved(sqlOn(database.pool), 0, 100),
  );
  expect(removed).toBe(0);
  const { rowCount } = await database.pool.query('select from auth."user" where email = $1', [email]);
  expect(rowCount).toBe(1);
});

test('what is taken over while old rows are removed stays: the lease of a process that died', async () => {
  const { rows } = await database.pool.query(
    `insert into auth."verification" (identifier, value, "expiresAt") values ('second-factor:x', 'dead', now() - interval '1 day')
     returning id`,
  );
  const [{ id }] = rows;
  const sessions = new Sessions(database, new Background(openLog('silent', 'test')), times);
  await sweepAgainst(
    `update auth."verification" set value = 'alive', "expiresAt" = now() + interval '1 day' where id = '${id}'`,
    () => sessions.forgetOld(100),
  );
  const kept = await database.pool.query('select value from auth."verification" where id = $1', [id]);
  expect(kept.rows).toEqual([{ value: 'alive' }]);
});
