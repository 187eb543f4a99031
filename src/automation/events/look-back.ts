import type { Scope } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import type { MatchCandidate } from '../bounded/match-event.ts';
import { maxChain } from '../core/event-names.ts';
import { chainOf } from './chains.ts';
import { eventRow, eventValueOf, type MatchServices } from './event-value.ts';
import { matchCandidates } from './match.ts';
import { resolveWaits } from './resolve-waits.ts';
import { candidatesOf } from './wait-values.ts';

/** Waits of a run that look back together: they look at the same events, and most at the same values of their run. */
const maxTogether = 100;

// The wait that is asked for is the first of them, and those after it are next: of several that are asked for at once, each
// has others.
const findWaits = statement({
  name: 'look_back.waits',
  parameters: { id: 'uuid' },
  row: { id: 'uuid', event: 'text', match: 'text?', automationId: 'uuid' },
  text: `
    select w.id, w.event, w.match, r.automation_id as "automationId"
      from run_wait asked
      join run_wait w on w.run_id = asked.run_id and w.event = asked.event and w.state = 'open' and w.look_back is not null
      join run r on r.id = w.run_id
     where asked.organization_id = :organizationId and asked.environment = :environment and asked.id = :id
       and asked.state = 'open' and asked.look_back is not null
     order by w.id <> asked.id, w.id < asked.id, w.id limit ${maxTogether}`,
});

/** Events that are in memory at a time: each has up to 256 KiB. */
const perPage = 20;

// Includes events that were received since a wait began: the process that decided them may not have seen the wait yet.
const findEvents = statement({
  name: 'look_back.events',
  parameters: { waits: 'uuid[]', event: 'text', after: 'uuid?' },
  row: { ...eventRow, waits: 'uuid[]' },
  text: `
    select e.id, e.type, e.external_id as "externalId", e.is_own as "isOwn", e.content::text as content,
           e.chain::text as chain, e.correlation_id as "correlationId", e.received_at as "receivedAt",
           array(select w.id from run_wait w
                  where w.id = any(:waits) and e.received_at >= w.since - make_interval(secs => w.look_back)) as waits
      from workflow_event e
     where e.organization_id = :organizationId and e.environment = :environment and e.type = :event and e.content is not null
       and e.received_at >= (select min(w.since - make_interval(secs => w.look_back)) from run_wait w
                              where w.organization_id = :organizationId and w.environment = :environment and w.id = any(:waits))
       and (:after is null
         or (e.received_at, e.id) > (select x.received_at, x.id from workflow_event x where x.id = :after))
     order by e.received_at, e.id limit ${perPage}`,
});

const endLookBack = statement({
  name: 'look_back.end',
  parameters: { waits: 'uuid[]' },
  text: `
    update run_wait set look_back = null
     where organization_id = :organizationId and environment = :environment and id = any(:waits)`,
});

/**
 * Matches a wait, and those of its run for the same event, with the events that arrived before it, oldest first, up to now.
 * Each ends with the first that fits.
 */
export async function lookBack(
  { boundedWork, files, events }: MatchServices,
  scope: Scope,
  waitId: string,
): Promise<void> {
  const waits = await scope.rows(findWaits, { id: waitId });
  const [first] = waits;
  if (!first) return;
  const { event: name, automationId } = first;
  // Most waits find no event, and need not read the data for their expressions.
  let candidates: Map<string, MatchCandidate> | undefined;
  const left = new Set(waits.map(({ id }) => id));
  for (let after: string | null = null; left.size > 0; ) {
    const page: RowOf<typeof findEvents>[] = await scope.rows(findEvents, { waits: [...left], event: name, after });
    for (const event of page) {
      const chain = await chainOf(scope, event);
      if (chain.length > maxChain || chain.includes(automationId)) continue;
      const ids = event.waits.filter((id) => left.has(id));
      if (ids.length === 0) continue;
      const value = eventValueOf(events, event);
      candidates ??= await candidatesOf(files, scope, waits);
      const asked = ids.map((id) => candidates!.get(id)!);
      const matched = await matchCandidates(boundedWork, scope.tenantKey, value, asked);
      const fitting = ids.filter((_, index) => matched[index]!.matches);
      if (fitting.length === 0) continue;
      // An event that has become too old since it was read fits none.
      const hasEnded = await scope.transaction((tx) => resolveWaits(tx, fitting, event, value));
      if (hasEnded) for (const id of fitting) left.delete(id);
    }
    if (page.length < perPage) break;
    after = page.at(-1)!.id;
  }
  if (left.size > 0) await scope.rows(endLookBack, { waits: [...left] });
}
