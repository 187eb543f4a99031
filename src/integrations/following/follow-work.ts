import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Tenant } from '../../platform/tenant.ts';
import { catalog, findIntegration } from '../catalog.ts';
import type { Notice } from '../definition/inbound.ts';
import type { Integration } from '../definition/integration.ts';
import { triggerType } from '../trigger-events.ts';
import { missedAtSql } from './missed-at.ts';

/** The kind of outbox entries that make a Schedule as its connection needs it. Their subject is the connection. */
export const followKind = 'integration.follow';

/** Whether an integration delivers events only if we poll for them or subscribe to them. */
export const isFollowed = ({ poll, push }: Integration): boolean => poll !== undefined || push !== undefined;

/** Whether connections of an integration have a Schedule. The sandbox reaches no provider. */
export const needsSchedule = ({ environment }: Tenant, integrationId: string): boolean => {
  const integration = findIntegration(integrationId);
  return environment === 'live' && integration !== undefined && isFollowed(integration);
};

const forgetPoll = statement({
  name: 'integration.forget_poll',
  parameters: { connectionId: 'uuid' },
  text: `delete from integration_poll where organization_id = :organizationId and environment = :environment
    and connection_id = :connectionId`,
});
const forgetPushed = statement({
  name: 'integration.forget_all_pushed',
  parameters: { connectionId: 'uuid' },
  row: { subscriptionId: 'text' },
  text: `delete from integration_push where organization_id = :organizationId and environment = :environment
    and connection_id = :connectionId
   returning subscription_id as "subscriptionId"`,
});

/**
 * Removes the event sources of a connection that is removed, and its Schedule after the commit.
 * @returns the provider's ids of subscriptions that were still recorded, for `endForgotten` after the commit
 */
export async function forgetFollowed(tx: Transaction, integrationId: string, connectionId: string): Promise<string[]> {
  if (!needsSchedule(tx.tenant, integrationId)) return [];
  await tx.rows(forgetPoll, { connectionId });
  const forgotten = await tx.rows(forgetPushed, { connectionId });
  await tx.enqueue(followKind, connectionId);
  return forgotten.map(({ subscriptionId }) => subscriptionId);
}

const ofIntegrations = statement({
  name: 'integration.followed_connections',
  parameters: { ids: 'text[]' },
  row: { id: 'uuid' },
  text: `select id from integration_connection where organization_id = :organizationId and environment = :environment
    and integration = any(:ids) order by id`,
});

/**
 * Starts a run soon after the commit if a webhook subscribed to or unsubscribed from events that must be polled or
 * subscribed.
 */
export async function followListened(tx: Transaction, types: readonly string[]): Promise<void> {
  const listened = catalog.filter((integration) => {
    const own = Object.keys(integration.triggers).map((trigger) => triggerType(integration, trigger));
    return needsSchedule(tx.tenant, integration.id) && types.some((type) => type === '*' || own.includes(type));
  });
  if (listened.length === 0) return;
  const ids = listened.map(({ id }) => id);
  for (const { id } of await tx.rows(ofIntegrations, { ids })) await tx.enqueue(followKind, id);
}

// A subscription that needs renewal is close to its end; a removed one has reached it.
const shorten = statement({
  name: 'integration.shorten_pushed',
  parameters: { connectionId: 'uuid', subscriptionIds: 'text[]', seconds: 'float8?', wasMissed: 'boolean' },
  row: { shortened: 'boolean' },
  text: `with own as (
     select connection_id, resource from integration_push
      where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
        and subscription_id = any(:subscriptionIds)
      order by resource for update)
   update integration_push p set ends_at = least(p.ends_at, atelier_now() + make_interval(secs => :seconds)),
          missed_at = case when :wasMissed then ${missedAtSql('p', 'atelier_now()')} else p.missed_at end
     from own where p.connection_id = own.connection_id and p.resource = own.resource
   returning true as shortened`,
});
// Null while the subscription continues. Events of a time without a subscription were missed too.
const follows = {
  renew: { seconds: 600, wasMissed: false },
  removed: { seconds: 0, wasMissed: true },
  missed: { seconds: null, wasMissed: true },
} as const;

/**
 * Follows the provider's notices about its subscriptions of a connection: renews or recreates them, and soon fetches
 * the missed events.
 */
export async function takeLifecycle(
  scope: Scope,
  connectionId: string,
  notices: readonly Pick<Notice, 'lifecycle' | 'subscriptionId'>[],
): Promise<void> {
  await scope.transaction(async (tx) => {
    let isChanged = false;
    for (const [lifecycle, given] of Object.entries(follows)) {
      const ids = notices.flatMap((one) => (one.lifecycle === lifecycle ? (one.subscriptionId ?? []) : []));
      if (ids.length === 0) continue;
      const subscriptionIds = [...new Set(ids)];
      isChanged = (await tx.rows(shorten, { connectionId, subscriptionIds, ...given })).length > 0 || isChanged;
    }
    if (isChanged) await tx.enqueue(followKind, connectionId);
  });
}
