import type { FindableRows } from '../platform/parts/findable.ts';
import { calendarScheduleId } from '../temporal/contracts/calendars.ts';
import { bookingWorkflowId } from '../temporal/contracts/scheduling.ts';
import { bookingIds, calendarIds, eventTypeIds } from './core/ids.ts';

/** What operators find of scheduling: bookings with what follows from them, event types, and calendars. */
export const findableScheduling: readonly FindableRows[] = [
  {
    kind: 'booking',
    table: 'booking',
    ids: [bookingIds],
    state: 'r.status',
    reason: `(select string_agg(e.kind || ' ' || e.status || ': ' || e.last_error, '; ' order by e.version, e.kind)
                from booking_effect e where e.booking_id = r.id and e.last_error is not null)`,
    facts: `jsonb_build_object(
      'host', r.host_id, 'eventType', r.event_type_id, 'startAt', r.start_at, 'endAt', r.end_at,
      'rescheduleCount', r.reschedule_count, 'cancelledAt', r.cancelled_at, 'createdAt', r.created_at,
      'effects', (select coalesce(jsonb_agg(jsonb_build_object(
                     'kind', e.kind, 'version', e.version, 'status', e.status, 'attempts', e.attempts,
                     'lastError', e.last_error, 'dueAt', e.due_at, 'updatedAt', e.updated_at)
                     order by e.version, e.kind), '[]')
                   from booking_effect e where e.booking_id = r.id))`,
    workflowId: bookingWorkflowId,
    search: {
      scope: 'scheduling',
      title: 'r.attendee_name',
      at: 'r.start_at',
      by: {
        correlation: 'r.correlation_id = :text',
        attendee: 'r.attendee_email in (:text, lower(:text))',
      },
    },
  },
  {
    kind: 'event_type',
    table: 'scheduling_event_type',
    ids: [eventTypeIds],
    state: `case when r.deleted_at is not null then 'deleted' when r.is_active then 'active' else 'off' end`,
    reason: 'null::text',
    facts: `jsonb_build_object('host', r.host_id, 'duration', r.duration, 'createdAt', r.created_at, 'deletedAt', r.deleted_at)`,
    correlation: null,
    search: {
      scope: 'scheduling',
      title: 'r.name',
      at: 'r.created_at',
      isShown: 'r.deleted_at is null',
      // A plan bounds how many event types there are.
      by: { name: 'strpos(lower(r.name), lower(:text)) > 0' },
    },
  },
  {
    kind: 'calendar',
    table: 'calendar',
    ids: [calendarIds],
    state: 'r.status',
    reason: `r.last_error_code || coalesce(': ' || r.last_error_message, '')`,
    facts: `jsonb_build_object(
      'service', r.service, 'host', r.host_id, 'followChanges', r.follow_changes, 'lastSyncedAt', r.last_synced_at,
      'lastErrorAt', r.last_error_at, 'watchedUntil', r.channel_ends_at, 'createdAt', r.created_at)`,
    correlation: `'${calendarScheduleId('')}' || r.id::text`,
    workflowId: calendarScheduleId,
  },
];
