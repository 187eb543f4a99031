import { fingerprintOf, type IdempotencyClaim } from '../../platform/database/idempotency.ts';
import { Scope } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Tenant } from '../../platform/tenant.ts';
import { workflowIds } from '../core/ids.ts';
import type { TriggerFacts } from '../core/starts.ts';
import { failPoint } from '../fail-points.ts';
import { type CreateRunServices, createRun } from '../runs/create-run.ts';
import { QueueLimitReached } from '../starts/queue-limit.ts';
import { chainOf } from './chains.ts';
import { type DecideServices, noteSkips } from './decide.ts';
import { eventRow, eventValueOf } from './event-value.ts';
import type { GivingUp } from './give-up.ts';

export interface EventStartServices extends CreateRunServices, DecideServices {
  log: Log;
}

/** Runs that are created in one step for one event, and how many of them at the same time. */
const perStep = 200;
const concurrency = 4;

const findStarts = statement({
  name: 'event_start.next',
  parameters: { max: 'int' },
  row: { ...eventRow, automationId: 'uuid', triggerId: 'uuid', variables: 'text' },
  text: `
    select e.id, s.automation_id as "automationId", s.trigger_id as "triggerId", s.variables::text as variables, e.type,
           e.external_id as "externalId", e.is_own as "isOwn", coalesce(e.content, '{}')::text as content,
           e.chain::text as chain, e.correlation_id as "correlationId", e.received_at as "receivedAt"
      from (select event_id from event_start where organization_id = :organizationId and environment = :environment
             order by event_id limit 1) first
      join event_start s on s.organization_id = :organizationId and s.environment = :environment
       and s.event_id = first.event_id
      join workflow_event e on e.id = s.event_id
     order by s.automation_id limit :max`,
});

const removeStart = statement({
  name: 'event_start.remove',
  parameters: { eventId: 'uuid', automationId: 'uuid' },
  text: `
    delete from event_start
     where organization_id = :organizationId and environment = :environment and event_id = :eventId
       and automation_id = :automationId`,
});

const noteFired = statement({
  name: 'event_trigger.note_fired',
  parameters: { id: 'uuid' },
  text: `
    update event_trigger set last_fired_at = atelier_now()
     where organization_id = :organizationId and environment = :environment and id = :id`,
});

type Pending = RowOf<typeof findStarts>;

/** An event starts at most one run of a workflow. */
const claimOf = ({ id, automationId }: Pending): IdempotencyClaim => ({
  method: 'EVENT',
  path: `/api/v1/workflows/${automationId}/triggers`,
  key: id,
  fingerprint: fingerprintOf(null),
});

async function startOne(services: EventStartServices, scope: Scope, pending: Pending): Promise<void> {
  const { id: eventId, automationId, triggerId, type: event } = pending;
  const value = eventValueOf(services.events, pending);
  const facts: TriggerFacts = { eventId: value.id, event, chain: await chainOf(scope, pending) };
  try {
    const run = await createRun(services, scope, workflowIds.format(automationId), {
      input: { value },
      variables: JSON.parse(pending.variables) as Record<string, unknown>,
      idempotency: claimOf(pending),
      waiter: null,
      trigger: { type: 'event', facts },
    });
    failPoint('event.started');
    if (run.runId === null) await scope.rows(noteSkips, { ids: [triggerId], reasons: ['concurrency'] });
    else await scope.rows(noteFired, { id: triggerId });
  } catch (error) {
    // Failures of the workflow itself: a retry would fail again.
    if (!(error instanceof AppError) || error.kind === 'internal_error' || error.kind === 'service_unavailable')
      throw error;
    await scope.rows(noteSkips, {
      ids: [triggerId],
      reasons: [error instanceof QueueLimitReached ? 'queue_limit' : error.code],
    });
    services.log.warn({ ...scope.tenant, automationId, event, reason: error.code }, 'an event started no run');
  }
  await scope.rows(removeStart, { eventId, automationId });
}

/** Creates the runs that the oldest event of a tenant is to start, some at a time. @returns how many it looked at */
export async function startRuns(services: EventStartServices, tenant: Tenant, givingUp: GivingUp): Promise<number> {
  const scope = new Scope(services.database, tenant, 'event-starts');
  const pending = await scope.rows(findStarts, { max: perStep });
  const left = [...pending];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const { id: eventId, automationId, triggerId } = next;
      const itsScope = new Scope(services.database, tenant, next.correlationId);
      const start = () => startOne(services, itsScope, next);
      const work = { key: `${eventId} ${automationId}`, tenant, log: services.log };
      await givingUp.attempt(work, start, async () => {
        await itsScope.rows(noteSkips, { ids: [triggerId], reasons: ['internal_error'] });
        await itsScope.rows(removeStart, { eventId, automationId });
      });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return pending.length;
}
