import { hash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedSemaphore } from '../platform/concurrency/keyed-semaphore.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { AppError } from '../platform/errors.ts';
import type { AccountTimes } from './core/times.ts';

const find = systemStatement({
  name: 'second_factor.find',
  parameters: { userId: 'uuid' },
  row: { isOn: 'boolean' },
  text: `select coalesce("twoFactorEnabled", false) as "isOn" from auth."user" where id = :userId`,
});
const findPerson = systemStatement({
  name: 'second_factor.find_person',
  parameters: { email: 'text' },
  row: { id: 'uuid' },
  text: `select id from auth."user" where email = :email`,
});
const reset = systemStatement({
  name: 'second_factor.reset',
  parameters: { userId: 'uuid' },
  row: { id: 'uuid' },
  text: `with person as (
     update auth."user" set "twoFactorEnabled" = false, "updatedAt" = atelier_now()
      where id = :userId returning id),
   factors as (delete from auth."twoFactor" where "userId" in (select id from person)),
   sessions as (delete from auth."session" where "userId" in (select id from person))
   select id from person`,
});
// better-auth writes the person's row first, and that the factor is on once its code was right.
const finish = systemStatement({
  name: 'second_factor.finish',
  parameters: { userId: 'uuid' },
  text: `with person as (select id, coalesce("twoFactorEnabled", false) as "isOn" from auth."user" where id = :userId),
   confirmed as (
     update auth."twoFactor" set verified = true
      where verified is distinct from true and "userId" in (select id from person where "isOn"))
   delete from auth."twoFactor" where verified is distinct from false and "userId" in (select id from person where not "isOn")`,
});
const beginChange = systemStatement({
  name: 'second_factor.begin_change',
  parameters: { id: 'uuid', holder: 'text', seconds: 'float8' },
  row: { id: 'uuid' },
  text: `insert into auth."verification" ("id", "identifier", "value", "expiresAt")
    values (:id, 'second-factor:' || :id::text, :holder, atelier_now() + make_interval(secs => :seconds))
    on conflict ("id") do update set "value" = excluded."value", "expiresAt" = excluded."expiresAt"
     where auth."verification"."expiresAt" < atelier_now()
    returning id`,
});
const endChange = systemStatement({
  name: 'second_factor.end_change',
  parameters: { id: 'uuid', holder: 'text' },
  text: `delete from auth."verification" where id = :id and "value" = :holder`,
});

/** Whether signing in asks a person for a code. @param userId a canonical uuid */
export async function hasSecondFactor({ pool }: Database, userId: string): Promise<boolean> {
  return (await sqlOn(pool).one(find, { userId }))?.isOn ?? false;
}

/**
 * Completes a change of a person's second factor that ended between its two writes, with its process: a factor that is
 * on would take no code, and one that is off could not be set up. Does no harm during a change. @param userId a canonical uuid
 */
export async function finishFactorChange({ pool }: Database, userId: string): Promise<void> {
  await sqlOn(pool).rows(finish, { userId });
}

/** A change takes less than a second. The lease of a process that died ends after this. */
const leaseSeconds = 60;
const firstPauseMs = 20;
const maxPauseMs = 250;
const maxWaiting = 10;

/** The first change of a person waits for other processes, and the rest wait here. */
const ownChanges = new KeyedSemaphore(1, maxWaiting);

const underWay = () =>
  new AppError('conflict', 'The second factor is being changed in another window. Try again in a moment.');

/** One row for a person. PostgreSQL reads a UUID without hyphens. */
const leaseOf = (userId: string) => hash('sha256', `second factor of ${userId}`).slice(0, 32);

async function takeLease(
  { pool }: Database,
  of: { id: string; holder: string },
  { factorChangeWaitMs }: AccountTimes,
): Promise<boolean> {
  const end = performance.now() + factorChangeWaitMs;
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, maxPauseMs)) {
    if (await sqlOn(pool).one(beginChange, { ...of, seconds: leaseSeconds })) return true;
    if (performance.now() + pause > end) return false;
    await sleep(pause);
  }
}

/**
 * Makes a change of a person's second factor while no other one is made, in any process: better-auth reads the secret,
 * checks it, and writes the secret and that the factor is on in separate statements. A lease is held in place of a lock,
 * because better-auth has its own connections; neither the change nor its waiters hold one of ours.
 * @param change reads again what it depends on
 * @throws AppError conflict where other changes take too long, or too many wait
 */
export async function changeSecondFactor<Result>(
  { database, times }: { database: Database; times: AccountTimes },
  userId: string,
  change: () => Promise<Result>,
): Promise<Result> {
  if (!ownChanges.canEnqueue(userId)) throw underWay();
  return ownChanges.run(userId, async () => {
    const lease = { id: leaseOf(userId), holder: randomUUID() };
    if (!(await takeLease(database, lease, times))) throw underWay();
    try {
      await finishFactorChange(database, userId);
      return await change();
    } finally {
      await sqlOn(database.pool).rows(endChange, lease);
    }
  });
}

/**
 * For operators, when a person has lost the authenticator and the backup codes: turns the second factor off and ends the
 * person's sessions.
 * @param email in lower case
 * @returns whether there is such a person
 * @throws AppError conflict while the person changes it
 */
export async function resetSecondFactor(database: Database, email: string, times: AccountTimes): Promise<boolean> {
  const sql = sqlOn(database.pool);
  const person = await sql.one(findPerson, { email });
  if (!person) return false;
  const userId = person.id;
  return changeSecondFactor({ database, times }, userId, async () => (await sql.one(reset, { userId })) !== undefined);
}
