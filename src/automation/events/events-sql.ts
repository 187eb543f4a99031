import { statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';

/** How long an event belongs to the process that decides it. Renewed with every step. */
export const leaseSeconds = 30;

/** The channel that wakes the processes that decide events and start their runs. */
export const eventsChannel = 'atelier_workflow_events';

const leased = `atelier_now() + interval '${leaseSeconds} seconds'`;

/**
 * Writes an event of a caller. If no wait and no trigger has its name, it is decided at once. A wait for the name that
 * begins at the same time was committed before the event has its time, or begins after the event is committed.
 */
export const insertEvent = statement({
  name: 'workflow_event.insert',
  parameters: {
    id: 'uuid',
    type: 'text',
    externalId: 'text',
    content: 'text',
    correlationId: 'text',
    lease: 'uuid',
  },
  row: { isComplete: 'boolean' },
  text: `
    insert into workflow_event (id, organization_id, environment, type, external_id, is_own, content, chain, correlation_id,
                                received_at, looked_at, resumed, started, is_answered, was_complete, is_complete, lease,
                                leased_until)
    select :id, :organizationId, :environment, :type, :externalId, false, :content::json, '[]', :correlationId,
           atelier_now(), 0, 0, 0, not a.is_awaited, case when not a.is_awaited then true end, not a.is_awaited, :lease,
           ${leased}
      from (select lock_event_name(:organizationId, :environment, :type) as is_awaited offset 0) a
    returning is_complete as "isComplete"`,
});

/** The facts about an event that is being decided. */
const claimed = {
  id: 'uuid',
  type: 'text',
  externalId: 'text',
  isOwn: 'boolean',
  content: 'text',
  chain: 'text?',
  subjectId: 'uuid?',
  correlationId: 'text',
  receivedAt: 'timestamptz',
  afterId: 'uuid?',
  untilId: 'uuid?',
  lookedAt: 'int',
  isAnswered: 'boolean',
} as const;

// Waits and triggers that an earlier event of the name has not decided yet are left to that event, so that events are
// decided in their order.
const claimNext = (name: string, open: string) =>
  statement({
    name: `workflow_event.${name}`,
    parameters: { type: 'text', lease: 'uuid' },
    row: claimed,
    text: `
      with next as (
        select id from workflow_event
         where organization_id = :organizationId and environment = :environment and type = :type and not is_complete ${open}
         order by received_at, id limit 1)
      update workflow_event e set lease = :lease, leased_until = ${leased}
        from next
       where e.id = next.id and not e.is_complete
         and (e.lease = :lease or e.leased_until is null or e.leased_until < atelier_now())
      returning e.id, e.type, e.external_id as "externalId", e.is_own as "isOwn", coalesce(e.content, '{}')::text as content,
                e.chain::text as chain, e.subject_id as "subjectId", e.correlation_id as "correlationId",
                e.received_at as "receivedAt", e.after_id as "afterId", e.looked_at as "lookedAt",
                e.is_answered as "isAnswered",
                (select x.after_id from workflow_event x
                  where x.organization_id = e.organization_id and x.environment = e.environment and x.type = e.type
                    and not x.is_complete and (x.received_at, x.id) < (e.received_at, e.id) and x.after_id is not null
                  order by x.after_id limit 1) as "untilId"`,
  });

/** Takes the oldest event of a name whose answer still waits, unless another process has it. */
export const claimUnanswered = claimNext('claim_unanswered', 'and not is_answered');
/** Takes the oldest event of a name that is not decided to its end, unless another process has it. */
export const claimOpen = claimNext('claim_open', '');

export const findAnswer = statement({
  name: 'workflow_event.answer',
  parameters: { id: 'uuid' },
  row: {
    externalId: 'text',
    resumed: 'int',
    started: 'int',
    isAnswered: 'boolean',
    wasComplete: 'boolean?',
  },
  text: `
    select external_id as "externalId", resumed, started, is_answered as "isAnswered", was_complete as "wasComplete"
      from workflow_event where organization_id = :organizationId and environment = :environment and id = :id`,
});

export const keepChain = statement({
  name: 'workflow_event.keep_chain',
  parameters: { id: 'uuid', chain: 'text' },
  text: `update workflow_event set chain = :chain::json
          where organization_id = :organizationId and environment = :environment and id = :id`,
});

/**
 * Continues with the next waits and triggers, unless another process has taken over the event. Waits are counted by
 * their rows, because some end when another process looks back.
 */
export const advance = statement({
  name: 'workflow_event.advance',
  parameters: {
    id: 'uuid',
    lease: 'uuid',
    afterId: 'uuid?',
    looked: 'int',
    started: 'int',
    isAnswered: 'boolean',
    isComplete: 'boolean',
    isReleased: 'boolean',
  },
  row: { id: 'uuid', woken: 'text?' },
  text: `
    update workflow_event
       set after_id = coalesce(:afterId, after_id), looked_at = looked_at + :looked,
           resumed = case when is_answered then resumed else
             (select count(*)::int from run_wait w
               where w.organization_id = :organizationId and w.environment = :environment and w.event_id = :id) end,
           started = started + case when is_answered then 0 else :started end,
           was_complete = case when is_answered then was_complete when :isAnswered then :isComplete end,
           is_answered = is_answered or :isAnswered, is_complete = is_complete or :isComplete,
           leased_until = case when :isReleased then null else ${leased} end
     where organization_id = :organizationId and environment = :environment and id = :id and lease = :lease
    returning id, case when :isReleased and (not :isComplete or :started > 0)
                       then pg_notify('${eventsChannel}', '')::text end as woken`,
});

/** The next process need not wait until the lease ends. */
export const releaseLease = statement({
  name: 'workflow_event.release',
  parameters: { id: 'uuid', lease: 'uuid' },
  text: `
    update workflow_event set leased_until = null
     where organization_id = :organizationId and environment = :environment and id = :id and lease = :lease`,
});

/** The rest of it stays undecided. */
export const giveUpEvent = statement({
  name: 'workflow_event.give_up',
  parameters: { id: 'uuid', lease: 'uuid' },
  text: `
    update workflow_event
       set is_answered = true, was_complete = coalesce(was_complete, false), is_complete = true, leased_until = null
     where organization_id = :organizationId and environment = :environment and id = :id and lease = :lease`,
});

/** The next triggers of an event, in the order of their ids. */
export const findTriggers = statement({
  name: 'workflow_event.triggers',
  parameters: { eventId: 'uuid', afterId: 'uuid', untilId: 'uuid?', max: 'int' },
  row: {
    id: 'uuid',
    automationId: 'uuid',
    filter: 'text?',
    inputs: 'text?',
    state: 'text',
    definitions: 'text',
  },
  text: `
    select t.id, t.automation_id as "automationId", t.filter, t.inputs::text as inputs, a.state,
           d.inputs::text as definitions
      from workflow_event e
      join event_trigger t on t.organization_id = e.organization_id and t.environment = e.environment and t.event = e.type
       and t.created_at <= e.received_at
      join automation a on a.id = t.automation_id and a.deleted_at is null
      join definition d on d.id = a.definition_id
     where e.organization_id = :organizationId and e.environment = :environment and e.id = :eventId
       and t.id > :afterId and (:untilId is null or t.id <= :untilId)
     order by t.id limit :max`,
});

/** The next waiting steps of an event, in the order of their ids. */
export const findWaits = statement({
  name: 'workflow_event.waits',
  parameters: { eventId: 'uuid', afterId: 'uuid', untilId: 'uuid?', max: 'int' },
  row: { id: 'uuid', match: 'text?', isLookingBack: 'boolean', automationId: 'uuid' },
  text: `
    select w.id, w.match, w.look_back is not null as "isLookingBack", r.automation_id as "automationId"
      from workflow_event e
      join run_wait w on w.organization_id = e.organization_id and w.environment = e.environment and w.event = e.type
       and w.state = 'open' and (w.since <= e.received_at or w.look_back is not null)
      join run r on r.id = w.run_id
     where e.organization_id = :organizationId and e.environment = :environment and e.id = :eventId
       and w.id > :afterId and (:untilId is null or w.id <= :untilId)
     order by w.id limit :max`,
});

/** Tenants that one round looks at. */
export const tenantsPerRound = 1_000;
/** Names that one round looks at, of all tenants together, and those of one tenant that it decides a step of. */
const namesPerRound = { all: 1_000, ofTenant: 50 };

/** The tenant after which a round begins. */
const afterTenant = { afterOrganizationId: 'uuid', afterEnvironment: 'text' } as const;
const isAfter = '(organization_id, environment) > (:afterOrganizationId, :afterEnvironment)';

/**
 * Names with events that are not decided, in random order: some of each of the next thousand tenants. Skips from tenant to
 * tenant and from name to name along the index.
 */
export const findOpenNames = systemStatement({
  name: 'workflow_event.open_names',
  parameters: afterTenant,
  row: { organizationId: 'uuid', environment: typed<Environment>('text'), type: 'text' },
  text: `
    with recursive tenant as (
      (select organization_id, environment, 1 as nth from workflow_event where not is_complete and ${isAfter}
        order by organization_id, environment limit 1)
      union all
      select next.organization_id, next.environment, tenant.nth + 1
        from tenant cross join lateral (
          select organization_id, environment from workflow_event
           where not is_complete and (organization_id, environment) > (tenant.organization_id, tenant.environment)
           order by organization_id, environment limit 1) next
       where tenant.nth < ${tenantsPerRound}),
    share as (select ceil(${namesPerRound.all}.0 / count(*)) as names from tenant),
    chosen as (
      select tenant.organization_id, tenant.environment, open.type,
             row_number() over (partition by tenant.organization_id, tenant.environment order by random()) as nth
        from tenant cross join lateral (
          with recursive name as (
            (select type, 1 as nth from workflow_event
              where not is_complete and organization_id = tenant.organization_id and environment = tenant.environment
              order by type limit 1)
            union all
            select next.type, name.nth + 1
              from name cross join lateral (
                select type from workflow_event
                 where not is_complete and organization_id = tenant.organization_id and environment = tenant.environment
                   and type > name.type
                 order by type limit 1) next
             where name.nth < (select names from share))
          select type from name) open)
    select organization_id as "organizationId", environment, type from chosen
     where nth <= ${namesPerRound.ofTenant} order by random()`,
});

/** The next thousand tenants with runs that events are still to start, in random order. */
export const findStartingTenants = systemStatement({
  name: 'event_start.tenants',
  parameters: afterTenant,
  row: { organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `
    with recursive tenant as (
      (select organization_id, environment, 1 as nth from event_start where ${isAfter}
        order by organization_id, environment limit 1)
      union all
      select next.organization_id, next.environment, tenant.nth + 1
        from tenant cross join lateral (
          select organization_id, environment from event_start
           where (organization_id, environment) > (tenant.organization_id, tenant.environment)
           order by organization_id, environment limit 1) next
       where tenant.nth < ${tenantsPerRound})
    select organization_id as "organizationId", environment from tenant order by random()`,
});
