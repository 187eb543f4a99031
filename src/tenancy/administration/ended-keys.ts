import { removalOf } from '../../platform/database/remove-rows.ts';

/** Keys that have ended which an organization keeps. */
export const keptEndedKeys = 1_000;

/**
 * Keys that ended before the newest ended keys that an organization keeps. They count among all keys that it may have,
 * so a caller that creates and revokes keys would otherwise leave no room for others.
 */
export const forgetEndedKeys = removalOf({
  name: 'own_key.forget',
  table: 'api_key',
  where: `id in (
    select id from (
      select id, row_number() over (partition by organization_id order by coalesce(revoked_at, expires_at) desc, id desc) as nth
        from api_key where revoked_at is not null or expires_at <= atelier_statement_now()) ended
     where nth > ${keptEndedKeys})`,
});
