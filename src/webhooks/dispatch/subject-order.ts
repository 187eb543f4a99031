import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { type Sql, sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { openDelivery } from '../core/delivery-status.ts';
import { isWaiting } from '../retries/retry-release.ts';
import { isDue, isFirst, isFree } from './ready.ts';

/*
 * Deliveries of a webhook about the same subject are made one after the other, in the order of their ids: the next one is
 * attempted only when the one before has ended. That is decided when attempts are leased, under the lock of the webhook.
 *
 * - A delivery that is found to come after another one is marked as held, and leaves the indexes of those that can be
 *   leased: however many wait behind one, they are looked at once, and the deliveries about other subjects go on.
 * - What records an attempt locks the webhook too, and releases the next one of the subject. A release may come too early, for
 *   the lease looks again; a sweep makes those that were missed.
 */

/** For SQL: a delivery that waits for another one about its subject. Names the condition of a partial index. */
export const isHeld = `is_held and status in (${openDelivery})`;

/**
 * For SQL: whether an earlier delivery about the subject of this one has not ended, or an attempt of another one is
 * under way, such as a replayed earlier one. Subqueries, so that the planner uses one index for each, whatever it
 * assumes about the table.
 */
export const isBehind = (delivery: string) => `(
        (select p.id from delivery p
          where p.subscription_id = ${delivery}.subscription_id and p.subject is not null
            and p.subject = ${delivery}.subject and p.status in (${openDelivery}) and p.id < ${delivery}.id
          order by p.subject, p.id limit 1) is not null
        or (select f.id from delivery f
             where f.subscription_id = ${delivery}.subscription_id and f.leased_until > atelier_now()
               and f.subject = ${delivery}.subject and f.id <> ${delivery}.id limit 1) is not null)`;

/** Deliveries of a webhook that one look reads, of first attempts and of retries each. More than one lease takes. */
const perLook = 128;

const someOf = (condition: string, order: string) => `
        (select id, subscription_id, subject from delivery
          where subscription_id = g.id and ${condition} and ${isFree} order by ${order} limit ${perLook})`;

const holdStatement = systemStatement({
  name: 'delivery.hold_back',
  parameters: { subscriptionIds: 'uuid[]' },
  row: { id: 'uuid' },
  text: `with candidate as materialized (
     select d.id, d.subscription_id, d.subject from unnest(:subscriptionIds) as g (id)
       left join retry_release c on c.subscription_id = g.id
      cross join lateral (
        ${someOf(isFirst, 'created_at')} union all
        ${someOf(`${isWaiting} and ${isDue} and next_attempt_at <= c.released_until`, 'next_attempt_at')}) d
      where d.subject is not null)
   update delivery set is_held = true
    where id = any(array(select d.id from candidate d where ${isBehind('d')}))
   returning id`,
});

/**
 * Marks deliveries that come after others, of webhooks that the transaction has locked.
 * @returns how many
 */
export const holdBack = async (sql: Sql, subscriptionIds: readonly string[]): Promise<number> =>
  (await sql.rows(holdStatement, { subscriptionIds })).length;

/** What deliveries of a webhook are about. */
export interface Subject {
  subscriptionId: string;
  subject: string;
}

/** The first delivery that has not ended of each of `subject`s, if it is held. */
const firstHeld = (subjects: string) => `
     select n.id from ${subjects} s cross join lateral (
       select id, is_held from delivery
        where subscription_id = s.subscription_id and subject is not null and subject = s.subject
          and status in (${openDelivery})
        order by subject, id limit 1) n
      where n.is_held`;

const releaseStatement = statement({
  name: 'delivery.release_next',
  parameters: { subscriptionIds: 'uuid[]', subjects: 'text[]' },
  row: { subscriptionId: 'uuid', attempts: 'int' },
  text: `with ended as (
     select distinct * from unnest(:subscriptionIds, :subjects) as e (subscription_id, subject))
   update delivery set is_held = false
    where organization_id = :organizationId and environment = :environment
      and id = any(array(${firstHeld('ended')}))
   returning subscription_id as "subscriptionId", attempts`,
});

/**
 * Releases the next delivery of each subject after an attempt was recorded. For a transaction that has locked the webhooks.
 * @returns the webhooks that have retries now
 */
export async function releaseNext(scope: Scope, subjects: readonly Subject[]): Promise<string[]> {
  if (subjects.length === 0) return [];
  const released = await scope.rows(releaseStatement, {
    subscriptionIds: subjects.map(({ subscriptionId }) => subscriptionId),
    subjects: subjects.map(({ subject }) => subject),
  });
  return released.filter(({ attempts }) => attempts > 0).map(({ subscriptionId }) => subscriptionId);
}

/** Subjects that one look of the sweep reads. */
const perSweep = 1_000;
const noId = '00000000-0000-0000-0000-000000000000';

// Skips from subject to subject along the index of delayed deliveries. The workflow of a webhook releases its retries;
// the row that is written here wakes it.
const releaseForgotten = systemStatement({
  name: 'delivery.release_forgotten',
  parameters: { afterId: 'uuid', afterSubject: 'text' },
  row: { read: 'int', released: 'int', lastId: 'uuid?', lastSubject: 'text?' },
  text: `with recursive held as (
     (select subscription_id, subject, 1 as nth from delivery
       where ${isHeld} and (subscription_id, subject) > (:afterId, :afterSubject)
       order by subscription_id, subject, id limit 1)
     union all
     select next.subscription_id, next.subject, held.nth + 1 from held cross join lateral (
       select subscription_id, subject from delivery
        where ${isHeld} and (subscription_id, subject) > (held.subscription_id, held.subject)
        order by subscription_id, subject, id limit 1) next
      where held.nth < ${perSweep}),
   released as (
     update delivery set is_held = false where id = any(array(${firstHeld('held')}))
     returning subscription_id, organization_id, environment, attempts),
   retried as (
     insert into retry_release as c (subscription_id, organization_id, environment, released_until, looks_at, created_at)
     select subscription_id, organization_id, environment, atelier_now() + interval '10 seconds',
            '-infinity'::timestamptz, atelier_now()
       from (select distinct on (subscription_id) subscription_id, organization_id, environment from released where attempts > 0
              order by subscription_id) r
     on conflict (subscription_id) do update
        set released_until = greatest(c.released_until, excluded.released_until), looks_at = excluded.looks_at)
   select count(*)::int as read, (select count(*)::int from released) as released,
          (array_agg(subscription_id order by nth desc))[1] as "lastId",
          (array_agg(subject order by nth desc))[1] as "lastSubject"
     from held`,
});

/**
 * Returns a function that releases deliveries whose predecessors ended without releasing them. Each call looks at the next
 * thousand subjects, and after the last begins anew. It returns how many were released.
 */
export function forgottenSweep(database: Database): () => Promise<number> {
  const start = { afterId: noId, afterSubject: '' };
  let after = start;
  return async () => {
    const { read, released, lastId, lastSubject } = (await sqlOn(database.pool).one(releaseForgotten, after))!;
    after = read < perSweep || !lastId ? start : { afterId: lastId, afterSubject: lastSubject ?? '' };
    return released;
  };
}
