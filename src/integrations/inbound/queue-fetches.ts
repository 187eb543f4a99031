import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import type { Notice } from '../definition/inbound.ts';
import { triggerType } from '../trigger-events.ts';
import { digestOf, type Source, subscribedTypes } from './publish-triggers.ts';
import { storableJson } from './storable-json.ts';

// One entry of the outbox represents all waiting events of a connection.
const queue = statement({
  name: 'integration.queue_fetches',
  parameters: { connectionId: 'uuid', rows: 'jsonb', correlationId: 'text' },
  row: { subjectId: 'uuid', entryId: 'uuid' },
  text: `with given as (
     select * from jsonb_to_recordset(:rows) as t(type text, trigger text, digest uuid, reference jsonb)),
   ${subscribedTypes},
   fresh as (
     insert into integration_inbound_event (connection_id, digest, organization_id, environment, received_at, trigger,
       reference)
     select :connectionId, t.digest, :organizationId, :environment, atelier_now(), t.trigger, t.reference
       from given t join subscribed using (type) order by t.digest
     on conflict (connection_id, digest) do nothing
     returning digest)
   ${enqueueSql('integration.fetch_events', {
     subject: ':connectionId',
     correlation: ':correlationId',
     from: '(select where exists (select from fresh)) as once',
   })}
   ${replacingEarlier} returning subject_id as "subjectId", id as "entryId"`,
  enqueues: { 'integration.fetch_events': (row) => row },
});

/** Keeps events whose data have to be fetched, each once within a day, for a workflow that fetches them. */
export async function queueFetches(
  scope: Scope,
  { integration, connectionId }: Source,
  notices: readonly Pick<Notice, 'key' | 'trigger' | 'reference'>[],
): Promise<void> {
  const rows = new Map(
    notices.map(({ trigger = '', key, reference }) => {
      const digest = digestOf(connectionId, key);
      return [digest, { type: triggerType(integration, trigger), trigger, digest, reference }];
    }),
  );
  await scope.rows(queue, { connectionId, rows: storableJson([...rows.values()]), correlationId: scope.correlationId });
}
