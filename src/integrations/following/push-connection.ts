import { createHash } from 'node:crypto';
import { attemptAll } from '../../platform/concurrency/attempt-all.ts';
import { statement } from '../../platform/database/sql.ts';
import { type FailureKind, IntegrationFailure } from '../calls/failures.ts';
import type { PushSubscription } from '../definition/integration.ts';
import { queueFetches } from '../inbound/queue-fetches.ts';
import type { Followed, FollowServices } from './followed.ts';

/** A subscription at a provider. */
interface Pushed {
  resource: string;
  subscriptionId: string;
  clientStateHash: string;
  endsAt: Date;
  listenedSince: Date;
  /** A timestamp of PostgreSQL with all its digits; null where nothing was missed. */
  missedAt: string | null;
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
  },
  text: `select resource, subscription_id as "subscriptionId", client_state_hash as "clientStateHash",
          ends_at as "endsAt", listened_since as "listenedSince", missed_at::text as "missedAt"
     from integration_push where organization_id = :organizationId and environment = :environment
       and connection_id = :connectionId
    order by resource`,
});
// Does nothing for a connection that was removed: its subscription ends by itself, and its events belong to no
// connection. Between two subscriptions there was none, and events of that time were missed.
const keep = statement({
  name: 'integration.keep_pushed',
  parameters: { id: 'uuid', resource: 'text', subscriptionId: 'text', hash: 'text', endsAt: 'timestamptz' },
  row: { listenedSince: 'timestamptz', missedAt: 'text?' },
  text: `with own as (
     select id from integration_connection where organization_id = :organizationId and environment = :environment
       and id = :id for update)
   insert into integration_push as known
     (connection_id, resource, organization_id, environment, subscription_id, client_state_hash, ends_at)
   select id, :resource, :organizationId, :environment, :subscriptionId, :hash, :endsAt from own
   on conflict (connection_id, resource) do update set subscription_id = excluded.subscription_id,
     client_state_hash = excluded.client_state_hash, ends_at = excluded.ends_at,
     missed_at = case when known.subscription_id = excluded.subscription_id then known.missed_at
       else clock_timestamp() end
   returning listened_since as "listenedSince", missed_at::text as "missedAt"`,
});
const forget = statement({
  name: 'integration.forget_pushed',
  parameters: { connectionId: 'uuid', subscriptionId: 'text' },
  text: `delete from integration_push
    where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
      and subscription_id = :subscriptionId`,
});
const caughtUp = statement({
  name: 'integration.caught_up',
  parameters: { connectionId: 'uuid', resource: 'text', missedAt: 'text' },
  text: `update integration_push set missed_at = null
    where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
      and resource = :resource
      and missed_at = :missedAt::timestamptz`,
});
const hashOf = (clientState: string) => createHash('sha256').update(clientState).digest('hex');

const refusals: readonly FailureKind[] = ['action_failed', 'invalid_payload'];

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
  const resources = isSubscribed && clientState !== undefined ? await resourcesOf(followed, push) : [];
  const hash = hashOf(clientState ?? '');
  let refused: IntegrationFailure | undefined;
  // A resource that the account cannot access, such as a channel that it has left, does not block the others.
  const unlessRefused = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof IntegrationFailure) || !refusals.includes(error.kind)) throw error;
      refused ??= error;
    }
  };
  for (const pushed of known) {
    if (resources.includes(pushed.resource) && pushed.clientStateHash === hash) continue;
    await unlessRefused(() => removePushed(followed, push, pushed));
  }
  const url = `${services.publicUrl}/api/v1/integrations/${integration.id}/events`;
  const lifeMs = push.lastsSeconds * 1_000;
  for (const resource of resources) {
    const current = known.find((one) => one.resource === resource && one.clientStateHash === hash);
    const leftMs = current ? current.endsAt.getTime() - Date.now() : 0;
    if (leftMs > lifeMs / 2) {
      await unlessRefused(() => catchUp(followed, push, resource, current!));
      continue;
    }
    const endsAt = new Date(Date.now() + lifeMs);
    const address = { url, lifecycleUrl: url, clientState: clientState!, endsAt };
    await unlessRefused(async () => {
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
      if (kept) await catchUp(followed, push, resource, kept);
    });
  }
  if (refused) throw refused;
}

/** How far back missed events are requested: events that were received in this time are recognized by their keys. */
const maxMissedMs = 12 * 3_600_000;

/**
 * Fetches missed events, if there are any, until they are too old. Events that were pushed all the same have the same
 * keys.
 */
async function catchUp(
  { scope, integration, connected: { id: connectionId }, use }: Followed,
  { missed }: PushSubscription,
  resource: string,
  { listenedSince, missedAt }: Pick<Pushed, 'listenedSince' | 'missedAt'>,
): Promise<void> {
  if (missedAt === null) return;
  const oldest = Date.now() - maxMissedMs;
  const since = new Date(Math.max(listenedSince.getTime(), oldest));
  const mayAsk = missed !== undefined && Date.parse(missedAt) > oldest;
  const notices = mayAsk ? await use((call) => missed(resource, since, call)) : [];
  if (notices.length > 0) await queueFetches(scope, { integration, connectionId }, notices);
  await scope.rows(caughtUp, { connectionId, resource, missedAt });
}

const resourcesOf = ({ use }: Followed, push: PushSubscription): Promise<string[]> =>
  push.resources ? use((call) => push.resources!(call)) : Promise.resolve([wholeAccount]);

/** @returns undefined for one that does not exist any more */
async function renew({ use }: Followed, push: PushSubscription, { subscriptionId: id }: Pushed, endsAt: Date) {
  try {
    return { id, ...(await use((call) => push.renew(id, endsAt, call))) };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

type Pushing = Pick<Followed, 'scope' | 'connected' | 'use'>;

async function removePushed({ scope, connected, use }: Pushing, push: PushSubscription, { subscriptionId }: Pushed) {
  await use((call) => push.remove(subscriptionId, call));
  await scope.rows(forget, { connectionId: connected.id, subscriptionId });
}

/**
 * Ends all subscriptions of a connection that is about to be removed, as far as its provider lets us.
 * @throws the first failure, after the others were tried
 */
export async function endPushed(followed: Pushing, push: PushSubscription): Promise<void> {
  const all = await followed.scope.rows(list, { connectionId: followed.connected.id });
  await attemptAll(all, (pushed) => removePushed(followed, push, pushed));
}
