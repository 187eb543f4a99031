import type { Scope } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import type { MatchCandidate } from '../bounded/match-event.ts';
import { maxChain } from '../core/event-names.ts';
import { chainOf } from './chains.ts';
import { eventRow, eventValueOf, type MatchServices } from './event-value.ts';
import { matchCandidates } from './match.ts';
import { resolveWaits } from './resolve-waits.ts';
import { candidatesOf } from './wait-values.ts';

const findWait = statement({
  name: 'look_back.wait',
  parameters: { id: 'uuid' },
  row: { id: 'uuid', match: 'text?', automationId: 'uuid' },
  text: `
    select w.id, w.match, r.automation_id as "automationId" from run_wait w join run r on r.id = w.run_id
     where w.organization_id = :organizationId and w.environment = :environment and w.id = :id and w.state = 'open'
       and w.look_back is not null`,
});

const perPage = 100;

// Includes events that were received since the wait began: the process that decided them may not have seen the wait
// yet.
const findEvents = statement({
  name: 'look_back.events',
  parameters: { waitId: 'uuid', after: 'uuid?' },
  row: eventRow,
  text: `
    select e.id, e.type, e.external_id as "externalId", e.is_own as "isOwn", e.content::text as content,
           e.chain::text as chain, e.correlation_id as "correlationId", e.received_at as "receivedAt"
      from run_wait w
      join workflow_event e on e.organization_id = w.organization_id and e.environment = w.environment and e.type = w.event
       and e.received_at >= w.since - make_interval(secs => w.look_back) and e.content is not null
       and (:after is null
         or (e.received_at, e.id) > (select x.received_at, x.id from workflow_event x where x.id = :after))
     where w.organization_id = :organizationId and w.environment = :environment and w.id = :waitId
     order by e.received_at, e.id limit ${perPage}`,
});

const endLookBack = statement({
  name: 'look_back.end',
  parameters: { id: 'uuid' },
  text: `
    update run_wait set look_back = null
     where organization_id = :organizationId and environment = :environment and id = :id`,
});

/** Matches a wait with the events that arrived before it, oldest first, up to now, and ends it with the first that fits. */
export async function lookBack(
  { boundedWork, files, events }: MatchServices,
  scope: Scope,
  waitId: string,
): Promise<void> {
  const wait = await scope.one(findWait, { id: waitId });
  if (!wait) return;
  // Most waits find no event, and need not read the data for their expressions.
  let read: MatchCandidate | undefined;
  for (let after: string | null = null; ; ) {
    const page: RowOf<typeof findEvents>[] = await scope.rows(findEvents, { waitId, after });
    for (const event of page) {
      const chain = await chainOf(scope, event);
      if (chain.length > maxChain || chain.includes(wait.automationId)) continue;
      const value = eventValueOf(events, event);
      read ??= (await candidatesOf(files, scope, [wait])).get(wait.id)!;
      const [matched] = await matchCandidates(boundedWork, scope.tenantKey, value, [read]);
      if (!matched!.matches) continue;
      const outcome = JSON.stringify({ output: value });
      const { id: eventId, correlationId } = event;
      await scope.transaction((tx) => tx.rows(resolveWaits, { ids: [waitId], eventId, outcome, correlationId }));
      return;
    }
    if (page.length < perPage) break;
    after = page.at(-1)!.id;
  }
  await scope.rows(endLookBack, { id: waitId });
}
