import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { TemporalClient, WorkflowStart } from '../../temporal/client.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import {
  type BookingPolicy,
  bookingMessages,
  bookingWorkflowId,
  bookingWorkflows,
  type FollowBookingArgs,
} from '../../temporal/contracts/scheduling.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { fairnessOf } from '../../tenancy/index.ts';
import type { BookingStatus } from '../core/booking-status.ts';
import { openEffect } from '../core/effect-status.ts';
import { bookingIds } from '../core/ids.ts';
import { failPoint } from '../fail-points.ts';

export interface FollowServices {
  temporal: TemporalClient;
  bookingPolicy: BookingPolicy;
}

const find = statement({
  name: 'booking.to_follow',
  parameters: { bookingId: 'uuid' },
  row: { status: typed<BookingStatus>('text'), rescheduleCount: 'int', plan: typed<PlanName>('text') },
  text: `select b.status, b.reschedule_count as "rescheduleCount", o.plan
     from booking b join organization o on o.id = b.organization_id
    where b.organization_id = :organizationId and b.environment = :environment and b.id = :bookingId`,
});

const startOf = (
  { bookingPolicy: policy }: FollowServices,
  { tenant, correlationId }: Scope,
  bookingId: string,
  plan: PlanName,
): WorkflowStart<FollowBookingArgs> => ({
  type: bookingWorkflows.followBooking,
  workflowId: bookingWorkflowId(bookingId),
  queue: queues.calendars,
  priority: priorities.operator,
  args: { ...tenant, correlationId, bookingId, policy },
  resourceId: bookingId,
  summary: bookingIds.format(bookingId),
  fairness: fairnessOf(tenant, plan),
});

/** Starts the workflow of a booking, or lets it know of a change. Harmless when that was done before. */
export async function followBooking(services: FollowServices, scope: Scope, bookingId: string): Promise<void> {
  failPoint('booking.committed');
  const found = await scope.one(find, { bookingId });
  if (!found) return;
  const start = startOf(services, scope, bookingId, found.plan);
  const { rescheduled, cancelled } = bookingMessages;
  if (found.status === 'cancelled') await services.temporal.signalWithStart(cancelled, start);
  else if (found.rescheduleCount > 0) await services.temporal.signalWithStart(rescheduled, start);
  else await services.temporal.start(start);
  failPoint('booking.followed');
}

/** Lets the workflow of a booking look at effects that were added. Starts it where it is over. */
export async function lookAtBooking(services: FollowServices, scope: Scope, bookingId: string): Promise<void> {
  const found = await scope.one(find, { bookingId });
  if (!found) return;
  const start = startOf(services, scope, bookingId, found.plan);
  await services.temporal.signalWithStart(bookingMessages.calendarConnected, start);
}

const lateMinutes = 5;

// Effects that are tried again are due later, so that these are what no workflow looks at. Those of deleted organizations wait
// until they are restored: a page of them alone would be the last one.
const findLate = systemStatement({
  name: 'booking_effect.late',
  parameters: { afterDueAt: 'timestamptz', afterBookingId: 'uuid', limit: 'int' },
  row: {
    bookingId: 'uuid',
    dueAt: 'timestamptz',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    correlationId: 'text',
    plan: typed<PlanName>('text'),
  },
  text: `select distinct on (l.due_at, l.booking_id) l.booking_id as "bookingId", l.due_at as "dueAt",
          l.organization_id as "organizationId", l.environment, b.correlation_id as "correlationId", o.plan
     from (select * from booking_effect e where status in (${openEffect})
              and due_at < atelier_statement_now() - make_interval(mins => ${lateMinutes})
              and (due_at, booking_id) > (:afterDueAt, :afterBookingId)
              and (select deleted_at from organization where id = e.organization_id) is null
            order by due_at, booking_id limit :limit) l
     join booking b on b.id = l.booking_id
     join organization o on o.id = l.organization_id
    order by l.due_at, l.booking_id`,
});

const batch = 100;
const beginning = { dueAt: new Date(0), bookingId: '00000000-0000-0000-0000-000000000000' };

/**
 * Returns a function that starts the workflows of bookings whose effects are long overdue: workflows that an operator
 * terminated, or that were lost with Temporal's database. Harmless for open workflows. Across all tenants, a part with
 * each call.
 */
export function restoreBookingWorkflows(services: FollowServices & { database: Database }): () => Promise<number> {
  const { database, temporal } = services;
  let after = beginning;
  return async () => {
    const late = await sqlOn(database.pool).rows(findLate, {
      afterDueAt: after.dueAt,
      afterBookingId: after.bookingId,
      limit: batch,
    });
    let restored = 0;
    for (const { bookingId, plan, correlationId, organizationId, environment } of late) {
      const scope = new Scope(database, { organizationId, environment }, correlationId);
      if (await temporal.startUnlessStarted(startOf(services, scope, bookingId, plan))) restored++;
    }
    after = late.at(-1) ?? beginning;
    return restored;
  };
}
