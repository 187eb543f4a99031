import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { keepChain } from './events-sql.ts';

// A run's own workflow, those of the runs that led to it, and the chains of the events that started them.
const above = (first: string) => `
  with recursive caused as (
    (select r.automation_id, r.parent_run_id, r.triggered_by, 1 as nth from run r
      where r.organization_id = :organizationId and r.environment = :environment and ${first} limit 20)
    union all
    select r.automation_id, r.parent_run_id, r.triggered_by, caused.nth + 1
      from caused join run r on r.id = caused.parent_run_id
     where caused.nth < 10)
  select distinct workflow.id from caused
   cross join lateral (
     select caused.automation_id::text as id
     union all
     select json_array_elements_text(caused.triggered_by -> 'chain')
      where json_typeof(caused.triggered_by -> 'chain') = 'array') workflow`;

const ofRun = statement({
  name: 'event_chain.of_run',
  parameters: { runId: 'uuid' },
  row: { id: 'text' },
  text: above('r.id = :runId'),
});

// Work that a step of a run began has the correlation id of the run.
const ofCorrelation = statement({
  name: 'event_chain.of_correlation',
  parameters: { correlationId: 'text' },
  row: { id: 'text' },
  text: above(`r.correlation_id = :correlationId`),
});

interface ChainedEvent {
  id: string;
  chain: string | null;
  content: string;
  correlationId: string;
}

/** The run that a published event is about. */
function runOf(content: string): string | undefined {
  const { runId } = JSON.parse(content) as { runId?: unknown };
  return typeof runId === 'string' ? runId : undefined;
}

/** The workflows that caused an event. An event of a caller has none. */
export async function chainOf(scope: Scope, event: ChainedEvent): Promise<string[]> {
  if (event.chain !== null) return JSON.parse(event.chain) as string[];
  const runId = runOf(event.content);
  const { correlationId } = event;
  const found = await (runId ? scope.rows(ofRun, { runId }) : scope.rows(ofCorrelation, { correlationId }));
  const chain = found.map(({ id }) => id);
  await scope.rows(keepChain, { id: event.id, chain: JSON.stringify(chain) });
  return chain;
}
