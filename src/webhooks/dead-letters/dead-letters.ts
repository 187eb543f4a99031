import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import type { RedriveArgs } from '../../temporal/contracts/webhooks.ts';
import type { EventCatalog } from '../core/event-catalog.ts';
import { eventIdOf } from '../deliveries/publish-event.ts';
import { failPoint } from '../fail-points.ts';
import { operatorScopeOf, renewAsOperator } from './operator-actions.ts';
import { type DeadLetterFilter, readRedriveArguments } from './redrive-arguments.ts';

export interface DeadLetter extends Tenant {
  id: string;
  subscriptionId: string;
  eventType: string;
  correlationId: string;
  attempts: number;
  statusCode: number | null;
  errorClass: string | null;
  finishedAt: Date;
  /** `finishedAt` to the microsecond. */
  position: string;
}

const findDead = systemStatement({
  name: 'delivery.dead_letters',
  parameters: {
    after: 'timestamptz',
    afterId: 'uuid',
    until: 'timestamptz',
    organizationId: 'uuid?',
    subscriptionId: 'uuid?',
    eventType: 'text?',
    replayable: 'boolean',
    limit: 'int',
  },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    subscriptionId: 'uuid',
    eventType: 'text',
    correlationId: 'text',
    attempts: 'int',
    statusCode: 'int?',
    errorClass: 'text?',
    finishedAt: 'timestamptz',
    position: 'text',
  },
  text: `select d.id, d.organization_id as "organizationId", d.environment, d.subscription_id as "subscriptionId",
          e.type as "eventType", e.correlation_id as "correlationId", d.attempts, d.status_code as "statusCode",
          d.error_class as "errorClass", d.finished_at as "finishedAt", d.finished_at::text as position
     from delivery d
     join event e on e.id = ${eventIdOf('d')}
     join webhook_subscription s on s.id = d.subscription_id and s.deleted_at is null
    where d.status = 'dead_lettered' and (d.finished_at, d.id) > (:after, :afterId)
      and d.finished_at <= :until
      and (:organizationId is null or d.organization_id = :organizationId) and (:subscriptionId is null
        or d.subscription_id = :subscriptionId)
      and (:eventType is null or e.type = :eventType) and (not :replayable or s.is_active and e.expunge_requested_at is null)
    order by d.finished_at, d.id limit :limit`,
});

/** The position of the last dead letter of a page. */
interface DeadLetterCursor {
  /** As PostgreSQL writes it, to the microsecond. */
  finishedAt: string;
  id: string;
}

const noId = '00000000-0000-0000-0000-000000000000';

interface Page {
  filter: DeadLetterFilter;
  after?: DeadLetterCursor | undefined;
  /** Later dead letters are left out: a redrive would otherwise replay its own replays. */
  until: Date;
  /** Only dead letters of active subscriptions, whose content was not removed. */
  replayable: boolean;
  limit: number;
}

/** Dead letters, oldest first. For operators: across all tenants. */
function listDeadLetters(database: Database, { filter, after, until, replayable, limit }: Page): Promise<DeadLetter[]> {
  const { organizationId, subscriptionId, eventType, since } = filter;
  return sqlOn(database.pool).rows(findDead, {
    after: after?.finishedAt ?? since ?? new Date(0),
    afterId: after?.id ?? noId,
    until,
    organizationId: organizationId ?? null,
    subscriptionId: subscriptionId ?? null,
    eventType: eventType ?? null,
    replayable,
    limit,
  });
}

export interface RedrivePage {
  filter: RedriveArgs;
  after?: DeadLetterCursor | undefined;
  /** ISO 8601 */
  until: string;
  limit: number;
}

export interface RedrivenPage {
  replayed: number;
  /** Undefined after the last one. */
  next: DeadLetterCursor | undefined;
}

/**
 * Replays a page of dead letters. Skips those that another caller has replayed in the meantime.
 * @throws AppError validation_error
 */
export async function redrivePage(
  database: Database,
  events: EventCatalog,
  { filter, after, until, limit }: RedrivePage,
): Promise<RedrivenPage> {
  const page = { filter: readRedriveArguments(events, filter), after, until: new Date(until), limit };
  const letters = await listDeadLetters(database, { ...page, replayable: true });
  let replayed = 0;
  for (const { id, organizationId, environment, correlationId } of letters) {
    const scope = operatorScopeOf(database, { organizationId, environment }, correlationId);
    if (!(await renewAsOperator(scope, id))) continue;
    failPoint('delivery.replayed');
    replayed++;
  }
  const last = letters.at(-1);
  const next = letters.length === limit && last ? { finishedAt: last.position, id: last.id } : undefined;
  return { replayed, next };
}

const readClock = systemStatement({
  name: 'delivery.redrive_begins',
  row: { now: 'timestamptz' },
  text: 'select atelier_now() as now',
});

const perPage = 20;
const perSecondByDefault = 20;

/**
 * Replays dead letters without Temporal, at a limited rate; running workers make the attempts.
 * @throws AppError validation_error
 */
export async function redriveInDatabase(
  database: Database,
  events: EventCatalog,
  filter: RedriveArgs,
): Promise<{ replayed: number }> {
  const { now } = (await sqlOn(database.pool).one(readClock))!;
  let after: DeadLetterCursor | undefined;
  let total = 0;
  for (;;) {
    const page = { filter, after, until: now.toISOString(), limit: perPage };
    const { replayed, next } = await redrivePage(database, events, page);
    total += replayed;
    if (!next) return { replayed: total };
    after = next;
    await sleep((replayed * 1000) / (filter.perSecond ?? perSecondByDefault));
  }
}
