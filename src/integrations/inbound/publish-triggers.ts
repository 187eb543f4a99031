import { hash, randomUUID } from 'node:crypto';
import { Batcher, retryIndividually } from '../../platform/concurrency/batcher.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { newId } from '../../platform/ids.ts';
import {
  isAwaited,
  isRecorded,
  listens,
  newDeliveries,
  newWorkflowEvents,
  ownTransaction,
  wakeDeliveries,
} from '../../webhooks/index.ts';
import type { Integration } from '../definition/integration.ts';
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
  /** The integration's trigger: `message_received`. */
  trigger: string;
  /** The same for a repeated event. Undefined for an event that is never repeated. */
  key?: string | undefined;
  data: Record<string, unknown>;
}

/**
 * Identifies an event of a connection, as a UUID: the first 128 bits of a SHA-256. It is the subject of the published
 * event; each subject and type has one event.
 */
export const digestOf = (connectionId: string, key: string): string =>
  hash('sha256', `${connectionId} ${key}`, 'hex').slice(0, 32);

/** Events in one statement: the events of a request, so that they share its thousand deliveries. */
export const maxEventsOfStatement = 1_000;

/**
 * The types of `given` that a webhook of the tenant subscribes to, or a workflow awaits: a thousand events have a
 * handful of types.
 */
export const subscribedTypes = `subscribed as materialized (
     select k.type from (select distinct type from given) k
      where exists (select from webhook_subscription s
                     where s.organization_id = :organizationId and s.environment = :environment
                       and s.deleted_at is null and ${listens('s', 'k')})
         or ${isAwaited('k')})`;

/** The published events: all, if the events of the tenant are recorded, for readers of the event list. */
const publishedTypes = `${subscribedTypes},
   published as materialized (
     select k.type from (select distinct type from given) k
      where exists (select from subscribed where subscribed.type = k.type) or ${isRecorded})`;

/** The events that are given as JSON, with their places. */
const givenIn = (parameter: string) => `given as (
     select * from rows from (
       json_to_recordset(${parameter}::json) as (id uuid, type text, digest uuid, correlation text, facts json)
     ) with ordinality as t(id, type, digest, correlation, facts, place)),
   moment as materialized (select atelier_now() as now)`;

// Rows are written in the order of their digests, so that two requests with the same events wait for each other and never
// in a circle. Their times have the order in which the events were received.
const publishFresh = `
   new_event as (
     insert into event (id, organization_id, environment, type, subject_id, facts, correlation_id, created_at,
                        transaction_number)
     select id, :organizationId, :environment, type, digest, facts, correlation,
            moment.now + (place - ${maxEventsOfStatement}) * interval '1 microsecond', ${ownTransaction}
       from fresh, moment order by digest
     on conflict (subject_id, type) do nothing
     returning id, type, created_at, subject_id, facts, correlation_id),
   awaited as (select o.* from new_event o where ${isAwaited('o')}),
   ${newWorkflowEvents('awaited')},
   ${newDeliveries}
   select coalesce(array_agg(e.id), '{}') as ids`;

const publishGiven = `with ${givenIn(':rows')}, ${publishedTypes},
   fresh as (select given.* from given join published using (type)),${publishFresh}`;

const publish = statement({
  name: 'integration.publish_triggers',
  parameters: { rows: 'json' },
  row: { ids: 'uuid[]' },
  text: `${publishGiven}, ${wakeDeliveries} as woken from new_event e`,
});
const publishQuietly = statement({
  name: 'integration.publish_quietly',
  parameters: { rows: 'json' },
  row: { ids: 'uuid[]' },
  text: `${publishGiven} from new_event e`,
});

// The row exists since the receipt of the event. The transaction that ends its wait publishes it.
const publishFetched = statement({
  name: 'integration.publish_fetched',
  parameters: { connectionId: 'uuid', rows: 'json' },
  row: { ids: 'uuid[]' },
  text: `with ${givenIn(':rows')}, ${subscribedTypes},
   fetched as (
     update integration_inbound_event i set reference = null
       from given t
      where i.organization_id = :organizationId and i.environment = :environment and i.connection_id = :connectionId
        and i.digest = t.digest
        and i.reference is not null
     returning i.digest),
   fresh as (select given.* from given join fetched using (digest) join subscribed using (type)),${publishFresh},
     ${wakeDeliveries} as woken from new_event e`,
});

interface Row {
  id: string;
  type: string;
  digest: string;
  correlation: string;
  facts: TriggerFacts;
}

const rowOf = (
  { correlationId: correlation }: Scope,
  { integration }: Source,
  { trigger, digest, data }: { trigger: string; digest: string; data: Record<string, unknown> },
): Row => {
  const facts: TriggerFacts = { integration: integration.id, data };
  return { id: newId(), type: triggerType(integration, trigger), digest, correlation, facts };
};

const rowsOf = (scope: Scope, source: Source, events: readonly TriggeredEvent[]): Row[] =>
  events.map(({ trigger, key = randomUUID(), data }) =>
    rowOf(scope, source, { trigger, digest: digestOf(source.connectionId, key), data }),
  );

/**
 * Publishes events of a provider that have a subscriber or a reader, each once for a connection: the events and their deliveries in
 * one statement, which notifies the dispatchers.
 * @param events at most 1,000
 * @returns the ids of the events that were written, as uuids
 */
export async function publishTriggers(
  scope: Scope,
  source: Source,
  events: readonly TriggeredEvent[],
): Promise<string[]> {
  if (events.length === 0) return [];
  return (await scope.one(publish, { rows: storableJson(rowsOf(scope, source, events)) }))!.ids;
}

/** Publishes an event whose data were fetched, unless that was done before. @param event with the digest of its key */
export async function publishFetchedEvent(
  scope: Scope,
  source: Source,
  event: Omit<TriggeredEvent, 'key'> & { digest: string },
): Promise<void> {
  await scope.one(publishFetched, {
    connectionId: source.connectionId,
    rows: storableJson([rowOf(scope, source, event)]),
  });
}

/**
 * `publishTriggers` for one event. @returns its id as a uuid; undefined without readers, and for an event that was
 * published before
 */
export const publishTrigger = async (
  scope: Scope,
  source: Source,
  event: TriggeredEvent,
): Promise<string | undefined> => (await publishTriggers(scope, source, [event]))[0];

interface TriggerBatch {
  scope: Scope;
  /** Rows as JSON, without the brackets around them. */
  json: string;
  count: number;
}

/** Maximum length of one statement's JSON in characters: one request has at most a million. */
const maxStatementLength = 2 ** 20;

async function publishAll(batch: readonly TriggerBatch[]): Promise<undefined[]> {
  await batch[0]!.scope.rows(publishQuietly, { rows: `[${batch.map(({ json }) => json).join()}]` });
  return batch.map(() => undefined);
}

/**
 * Publishes events that several requests bring for the same connection in one statement: most of what one event costs is the
 * statement and its commit.
 */
export class TriggerPublisher {
  readonly #gathered = new Batcher<TriggerBatch, undefined>({
    maxConcurrent: 3,
    weightOf: ({ json, count }) => Math.max(json.length / maxStatementLength, count / maxEventsOfStatement),
  });

  /**
   * As `publishTriggers`, but the caller notifies the dispatchers.
   * @param events at most 1,000
   * @returns once they are committed
   */
  async publish(scope: Scope, source: Source, events: readonly TriggeredEvent[]): Promise<void> {
    if (events.length === 0) return;
    const json = storableJson(rowsOf(scope, source, events)).slice(1, -1);
    const batch = { scope, json, count: events.length };
    await this.#gathered.run(source.connectionId, batch, (all) => retryIndividually(all, publishAll));
  }
}
