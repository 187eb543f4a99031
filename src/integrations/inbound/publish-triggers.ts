import { createHash, randomUUID } from 'node:crypto';
import { newId } from '../../platform/ids.ts';
import type { Scope } from '../../platform/scope.ts';
import { statement } from '../../platform/sql.ts';
import { listens, newDeliveries, wakeDeliveries } from '../../webhooks/publish-event.ts';
import type { Integration } from '../integration.ts';
import { type TriggerFacts, triggerType } from '../trigger-events.ts';
import { storableJson } from './storable-json.ts';

/** Where events come from. */
export interface Source {
  integration: Integration;
  /** The integration's connection: a uuid. */
  connectionId: string;
}

/** An event of a provider that can be published. */
export interface TriggeredEvent {
  /** Of the integration: `message_received`. */
  trigger: string;
  /** The same for an event that is sent twice. Undefined for one that is never repeated. */
  key?: string | undefined;
  data: Record<string, unknown>;
}

/** How the key of an event is stored: a UUID of the first 128 bits of its SHA-256. */
export const digestOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32);

/** Those of the types of `given` that a webhook of the tenant listens to: a thousand events have a handful of types. */
export const heardTypes = `heard as materialized (
     select k.type from (select distinct type from given) k
      where exists (select from webhook_subscription s
                     where s.organization_id = $1 and s.environment = $2 and s.deleted_at is null and ${listens('s', 'k')}))`;

/** Writes the events of `given` whose digests are in `fresh`, and their deliveries. */
const publishFresh = `
   new_event as (
     insert into event (id, organization_id, environment, type, subject_id, facts, correlation_id, created_at)
     select t.id, $1::uuid, $2::text, t.type, null, t.facts, $5::text, clock_timestamp()
       from given t join fresh using (digest) order by t.id
     returning id, type, created_at),
   ${newDeliveries}
   select coalesce(array_agg(e.id order by e.id), '{}') as ids`;

const given = `given as (
     select * from jsonb_to_recordset($4::jsonb) as t(id uuid, type text, digest uuid, facts jsonb))`;

// Rows are written in the order of their digests, so that two requests with the same events wait for each other and never
// in a circle.
const publishUnsaid = `with ${given}, ${heardTypes},
   fresh as (
     insert into integration_inbound_event (connection_id, digest, organization_id, environment, received_at)
     select $3::uuid, t.digest, $1::uuid, $2::text, clock_timestamp() from given t join heard using (type) order by t.digest
     on conflict (connection_id, digest) do nothing
     returning digest),${publishFresh}`;

const publish = statement<{ ids: string[] }>(
  'integration.publish_triggers',
  `${publishUnsaid}, ${wakeDeliveries} as woken from new_event e`,
);
const publishQuietly = statement<{ ids: string[] }>('integration.publish_quietly', `${publishUnsaid} from new_event e`);

// The row is there since the event was told. It is published by the one that ends its waiting.
const publishFetched = statement<{ ids: string[] }>(
  'integration.publish_fetched',
  `with ${given}, ${heardTypes},
   fetched as (
     update integration_inbound_event i set reference = null
       from given t
      where i.organization_id = $1 and i.environment = $2 and i.connection_id = $3 and i.digest = t.digest
        and i.reference is not null
     returning i.digest),
   fresh as (select digest from fetched join given using (digest) join heard using (type)),${publishFresh},
     ${wakeDeliveries} as woken from new_event e`,
);

/**
 * Publishes events of a provider that somebody listens to, each once within a day for a connection: the events and their
 * deliveries in one statement.
 * @param quietly whether the caller tells the dispatchers
 * @returns the ids of the events that were written, as uuids
 */
export async function publishTriggers(
  scope: Scope,
  { integration, connectionId }: Source,
  events: readonly TriggeredEvent[],
  { quietly = false }: { quietly?: boolean } = {},
): Promise<string[]> {
  const rows = new Map(
    events.map(({ trigger, key = randomUUID(), data }) => {
      const facts: TriggerFacts = { integration: integration.id, data };
      const digest = digestOf(key);
      return [digest, { id: newId(), type: triggerType(integration, trigger), digest, facts }];
    }),
  );
  if (rows.size === 0) return [];
  const given = storableJson([...rows.values()]);
  return (await scope.one(quietly ? publishQuietly : publish, connectionId, given, scope.correlationId))!.ids;
}

/** Publishes an event whose data were fetched, unless that was done before. @param digest of its key */
export async function publishFetchedEvent(
  scope: Scope,
  { integration, connectionId }: Source,
  { trigger, digest, data }: Omit<TriggeredEvent, 'key'> & { digest: string },
): Promise<void> {
  const facts: TriggerFacts = { integration: integration.id, data };
  const row = { id: newId(), type: triggerType(integration, trigger), digest, facts };
  await scope.one(publishFetched, connectionId, storableJson([row]), scope.correlationId);
}

/** `publishTriggers` for one event. @returns its id as a uuid; undefined where nobody listens, and for one that was published before */
export const publishTrigger = async (
  scope: Scope,
  source: Source,
  event: TriggeredEvent,
): Promise<string | undefined> => (await publishTriggers(scope, source, [event]))[0];
