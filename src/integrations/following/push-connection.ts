import { createHash } from 'node:crypto';
import { clock } from '../../platform/clock.ts';
import { attemptAll } from '../../platform/concurrency/attempt-all.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { type FailureKind, IntegrationFailure } from '../calls/failures.ts';
import type { PushResources, PushSubscription } from '../definition/integration.ts';
import { type Behind, catchUpAll } from './catch-up.ts';
import type { CatchUp } from './event-source-entities.ts';
import type { Followed, FollowServices } from './followed.ts';
import { missedAtSql } from './missed-at.ts';
import { RefusedResources } from './refused-resources.ts';

/** A subscription at a provider. */
interface Pushed extends Behind {
  subscriptionId: string;
  clientStateHash: string;
  endsAt: Date;
}

const list = statement({
  name: 'integration.pushed',
  parameters: { connectionId: 'uuid' },
  row: {
    resource: 'text',
    subscriptionId: 'text',
    clientStateHash: 'text',
    endsAt: 'timestamptz',
    listenedSince: 'timestamptz',
    missedAt: 'text?',
    catchUp: typed<CatchUp | null>('jsonb?'),
  },
  text: `select resource, subscription_id as "subscriptionId", client_state_hash as "clientStateHash",
          ends_at as "endsAt", listened_since as "listenedSince", missed_at::text as "missedAt", catch_up as "catchUp"
     from integration_push where organization_id = :organizationId and environment = :environment
       and connection_id = :connectionId
    order by resource`,
});
// Does nothing for a connection that was removed: its subscription ends by itself, and its events belong to no
// connection. Between two subscriptions there was none, and events of that time were missed.
const keep = statement({
  name: 'integration.keep_pushed',
  parameters: { id: 'uuid', resource: 'text', subscriptionId: 'text', hash: 'text', endsAt: 'timestamptz' },
  row: { listenedSince: 'timestamptz', missedAt: 'text?', catchUp: typed<CatchUp | null>('jsonb?') },
  text: `with own as (
     select id from integration_connection where organization_id = :organizationId and environment = :environment
       and id = :id for update)
   insert into integration_push as known
     (connection_id, resource, organization_id, environment, subscription_id, client_state_hash, ends_at)
   select id, :resource, :organizationId, :environment, :subscriptionId, :hash, :endsAt from own
   on conflict (connection_id, resource) do update set subscription_id = excluded.subscription_id,
     client_state_hash = excluded.client_state_hash, ends_at = excluded.ends_at,
     missed_at = case when known.subscription_id = excluded.subscription_id then known.missed_at
       else ${missedAtSql('known', 'least(atelier_now(), known.ends_at)')} end
   returning listened_since as "listenedSince", missed_at::text as "missedAt", catch_up as "catchUp"`,
});
const forget = statement({
  name: 'integration.forget_pushed',
  parameters: { connectionId: 'uuid', subscriptionId: 'text' },
  text: `delete from integration_push
    where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
      and subscription_id = :subscriptionId`,
});
const hashOf = (clientState: string) => createHash('sha256').update(clientState).digest('hex');

const refusals: readonly FailureKind[] = ['action_failed', 'invalid_payload'];
/** A list that is never answered does not block the lists of other resources either. */
const failedLists: readonly FailureKind[] = [...refusals, 'lost'];
/** These failures concern one resource. A limit of the provider concerns all of them. */
const failedSubscriptions: readonly FailureKind[] = [...failedLists, 'not_done'];

/** The subscribed resource if an account has only one. */
const wholeAccount = '';

const isGone = (error: unknown) => error instanceof IntegrationFailure && error.providerCode === 'gone';

/**
 * Keeps the subscriptions of a connection correct: one for each resource while a webhook subscribes, renewed in the
 * second half of its life, and none otherwise. A subscription that the provider ended is created again. A crash after a
 * creation and before its record leaves two: their events have the same keys, and the unrecorded one ends by itself.
 * @throws IntegrationFailure, AuthExpired
 */
export async function keepPushed(services: FollowServices, followed: Followed, push: PushSubscription): Promise<void> {
  const { scope, connected, integration, isSubscribed, use } = followed;
  const known = await scope.rows(list, { connectionId: connected.id });
  const clientState = services.clientStates.of(connected.id);
  const { resources, exceeded } =
    isSubscribed && clientState !== undefined ? await resourcesOf(followed, push) : { resources: [] };
  const hash = hashOf(clientState ?? '');
  let refused = exceeded;
  // A resource that the account cannot access, such as a channel that it has left, does not block the others.
  const unlessRefused = async (work: () => Promise<void>, kinds = refusals) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof IntegrationFailure) || !kinds.includes(error.kind)) throw error;
      refused ??= error;
    }
  };
  for (const pushed of known) {
    const isWanted = resources.includes(pushed.resource);
    if (isWanted && pushed.clientStateHash === hash) continue;
    // Where another subscription takes its place, the row says since when events are followed, and which were missed.
    const remove = isWanted ? endSubscription : removePushed;
    await unlessRefused(() => remove(followed, push, pushed));
  }
  const url = `${services.publicUrl}/api/v1/integrations/${integration.id}/events`;
  const lifeMs = push.lastsSeconds * 1_000;
  const refusedResources = await RefusedResources.of(scope, connected.id);
  const behind: Behind[] = [];
  const subscribed = new Set<string>();
  for (const resource of resources) {
    const current = known.find((one) => one.resource === resource && one.clientStateHash === hash);
    const leftMs = current ? current.endsAt.getTime() - clock.now() : 0;
    if (leftMs > lifeMs / 2) {
      behind.push(current!);
      subscribed.add(resource);
      continue;
    }
    const pausing = refusedResources.find(resource);
    if (pausing) {
      refused ??= pausing;
      continue;
    }
    const endsAt = new Date(clock.now() + lifeMs);
    const address = { url, lifecycleUrl: url, clientState: clientState!, endsAt };
    const subscribe = async () => {
      const renewed = current && leftMs > 0 ? await renew(followed, push, current, endsAt) : undefined;
      const made =
        renewed ??
        (await use((call) => push.create({ ...address, ...(resource !== wholeAccount && { resource }) }, call)));
      const kept = await scope.one(keep, {
        id: connected.id,
        resource,
        subscriptionId: made.id,
        hash,
        endsAt: made.endsAt,
      });
      if (kept) behind.push({ resource, ...kept });
      subscribed.add(resource);
    };
    try {
      await subscribe();
    } catch (error) {
      if (!(error instanceof IntegrationFailure) || !failedSubscriptions.includes(error.kind)) throw error;
      await refusedResources.add(resource, error);
      refused ??= error;
    }
  }
  await refusedResources.forgetAll((resource) => subscribed.has(resource) || !resources.includes(resource));
  await catchUpAll(followed, push, behind, (work) => unlessRefused(work, failedLists));
  if (refused) throw refused;
}

const resourcesOf = ({ use }: Followed, push: PushSubscription): Promise<PushResources> =>
  push.resources ? use((call) => push.resources!(call)) : Promise.resolve({ resources: [wholeAccount] });

/** @returns undefined for one that does not exist any more */
async function renew({ use }: Followed, push: PushSubscription, { subscriptionId: id }: Pushed, endsAt: Date) {
  try {
    return { id, ...(await use((call) => push.renew(id, endsAt, call))) };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Subscriptions that are removed at the same time: the owner of the account waits. */
const maxRemovals = 10;

type Pushing = Pick<Followed, 'scope' | 'connected' | 'use'>;

const endSubscription = ({ use }: Pushing, push: PushSubscription, { subscriptionId }: Pushed): Promise<void> =>
  use((call) => push.remove(subscriptionId, call));

async function removePushed(pushing: Pushing, push: PushSubscription, pushed: Pushed): Promise<void> {
  const { scope, connected } = pushing;
  const { subscriptionId } = pushed;
  await endSubscription(pushing, push, pushed);
  await scope.rows(forget, { connectionId: connected.id, subscriptionId });
}

/**
 * Ends all subscriptions of a connection that is about to be removed, as far as its provider lets us.
 * @throws the first failure, after the others were tried
 */
export async function endPushed(followed: Pushing, push: PushSubscription): Promise<void> {
  const all = await followed.scope.rows(list, { connectionId: followed.connected.id });
  const shares = Array.from({ length: maxRemovals }, (_, first) => all.filter((__, at) => at % maxRemovals === first));
  const ended = await Promise.allSettled(
    shares.map((share) => attemptAll(share, (pushed) => removePushed(followed, push, pushed))),
  );
  const failed = ended.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}
