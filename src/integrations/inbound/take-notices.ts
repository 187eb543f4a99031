import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Notice } from '../definition/inbound.ts';
import type { Integration } from '../definition/integration.ts';
import { failPoint } from '../fail-points.ts';
import { takeLifecycle } from '../following/follow-work.ts';
import type { Integrations } from '../integrations.ts';
import type { EventsConnection } from './connections-of-accounts.ts';
import type { Proven } from './prove.ts';
import { maxEventsOfStatement, type TriggeredEvent, type TriggerPublisher } from './publish-triggers.ts';
import { queueFetches } from './queue-fetches.ts';

interface TakeServices {
  database: Database;
  log: Log;
  triggerPublisher: TriggerPublisher;
  dispatchNotice: { give(): void };
  integrations: Pick<Integrations, 'accessEnded'>;
}

/** Who does it, as logs name it. */
const actor = 'provider';

/** The data of an event as its trigger declares them. @returns undefined where they do not fit it */
function eventOf(integration: Integration, { trigger = '', key, data }: Notice): TriggeredEvent | undefined {
  const declared = Object.hasOwn(integration.triggers, trigger) ? integration.triggers[trigger] : undefined;
  const read = declared?.data.safeParse(data);
  return read?.success ? { trigger, key, data: read.data } : undefined;
}

const inParts = <Item>(items: readonly Item[]): Item[][] =>
  Array.from({ length: Math.ceil(items.length / maxEventsOfStatement) }, (_, index) =>
    items.slice(index * maxEventsOfStatement, (index + 1) * maxEventsOfStatement),
  );

/** Takes the events of one connection. All of them are committed when it returns. */
async function takeForConnection(
  { database, log, triggerPublisher, integrations }: TakeServices,
  integration: Integration,
  connection: EventsConnection,
  { notices, correlationId }: { notices: readonly Notice[]; correlationId: string },
): Promise<void> {
  const { id: connectionId, organizationId, environment, status } = connection;
  const scope = new Scope(database, { organizationId, environment }, correlationId, actor);
  const source = { integration, connectionId };
  // Without access nothing is recorded, so that an event that the provider repeats later is delivered then.
  const hasAccess = status === 'connected';
  const publishable = notices.filter(({ trigger }) => hasAccess && trigger !== undefined);
  // The sandbox reaches no provider: an event of its owner has its data with it.
  const toFetch =
    environment === 'test' ? [] : publishable.filter(({ data, reference }) => data === undefined && reference);
  const complete = publishable.filter(({ data }) => data !== undefined);
  const ready = complete.map((notice) => eventOf(integration, notice)).filter((event) => event !== undefined);
  const unfit = complete.length - ready.length;
  if (unfit > 0) log.warn({ integration: integration.id, unfit, correlationId }, 'events do not fit their trigger');
  const lifecycle = notices.filter((notice) => notice.lifecycle !== undefined);
  if (lifecycle.length > 0) await takeLifecycle(scope, connectionId, lifecycle);
  for (const part of inParts(ready)) await triggerPublisher.publish(scope, source, part);
  for (const part of inParts(toFetch)) await queueFetches(scope, source, part);
  // After what happened while there was access.
  const ends = notices.flatMap(({ accessEndedAt }) => accessEndedAt?.getTime() ?? []);
  if (ends.length > 0) await integrations.accessEnded(scope, connectionId, new Date(Math.max(...ends)));
}

interface Taken extends Pick<Proven, 'connectionsFor'> {
  notices: readonly Notice[];
}

/**
 * Receives the events of a request: events with subscribers are published for every connection of their account, each
 * once. The provider sends those that a crash prevents again, because they were not acknowledged.
 * @returns once all of it is committed
 */
export async function takeNotices(
  services: TakeServices,
  integration: Integration,
  { notices, connectionsFor }: Taken,
  correlationId: string,
): Promise<void> {
  const byConnection = new Map<EventsConnection, Notice[]>();
  for (const notice of notices) {
    for (const connection of connectionsFor(notice)) {
      const own = byConnection.get(connection);
      if (own) own.push(notice);
      else byConnection.set(connection, [notice]);
    }
  }
  failPoint('inbound.proven');
  for (const [connection, own] of byConnection) {
    await takeForConnection(services, integration, connection, { notices: own, correlationId });
  }
  failPoint('inbound.committed');
  if (byConnection.size > 0) services.dispatchNotice.give();
}
