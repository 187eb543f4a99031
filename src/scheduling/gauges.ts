import { memoize } from '../platform/concurrency/memoize.ts';
import { systemStatement } from '../platform/database/sql.ts';
import { type GaugeOptions, gaugeTimeoutMs } from '../platform/observability/metrics.ts';
import type { Probe } from '../platform/observability/probe.ts';
import { calendarStatuses, isConnected } from './core/calendar-status.ts';
import { openEffect } from './core/effect-status.ts';
import { effectTypes } from './core/effects.ts';

const cachedMs = 5_000;
const countedTo = 10_000;

const literals = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(', ');

// Reads the index of open effects by their time, up to a day ahead: no retry is further away, but reminders are.
const dueEffects = systemStatement({
  name: 'gauges.booking_effects',
  row: { type: 'text', due: 'int', retrying: 'int', lateSeconds: 'float8' },
  text: `select wanted.type, count(*) filter (where open.due_at <= atelier_now())::int as due,
          count(*) filter (where open.status = 'retrying')::int as retrying,
          greatest(coalesce(extract(epoch from atelier_now() - min(open.due_at)), 0), 0)::float8 as "lateSeconds"
     from unnest(array[${literals(effectTypes)}]) as wanted (type)
     left join (select case when kind like 'reminder%' then 'reminder' else kind end as type, status, due_at
                  from booking_effect
                 where status in (${openEffect}) and due_at < atelier_statement_now() + interval '1 day'
                 order by due_at limit ${countedTo}) open using (type)
    group by wanted.type`,
});

// A calendar whose sync failed stays in error here while the sync is tried again.
const calendars = systemStatement({
  name: 'gauges.calendars',
  row: { status: 'text', count: 'int', staleSeconds: 'float8' },
  text: `select wanted.status, count(found.status)::int as count,
          coalesce(extract(epoch from atelier_now() - min(found.since)), 0)::float8 as "staleSeconds"
     from unnest(array[${literals(calendarStatuses)}]) as wanted (status)
     left join (select case when status = 'syncing' and last_error_code is not null then 'error'
       else status end as status,
                      coalesce(last_synced_at, created_at) as since
                 from calendar limit ${countedTo}) found using (status)
    group by wanted.status`,
});

/** What follows from bookings and is due, and how calendars are. */
export function schedulingGauges(observer: Probe): GaugeOptions[] {
  const readEffects = memoize(cachedMs, () => observer.rows(dueEffects, gaugeTimeoutMs));
  const readCalendars = memoize(cachedMs, () => observer.rows(calendars, gaugeTimeoutMs));
  return [
    {
      name: 'atelier_booking_effects_open',
      help: `Mails, calendar entries and links of bookings that are due, and those that failed and are tried again; counted up to ${countedTo}.`,
      installationWide: true,
      labelNames: ['type', 'state'],
      read: async () =>
        (await readEffects()).flatMap(({ type, due, retrying }) => [
          { labels: { type, state: 'due' }, value: due },
          { labels: { type, state: 'retrying' }, value: retrying },
        ]),
    },
    {
      name: 'atelier_booking_effects_late_seconds',
      help: 'How long ago the first of them was due; 0 when none is due.',
      installationWide: true,
      labelNames: ['type'],
      read: async () =>
        (await readEffects()).map(({ type, lateSeconds }) => ({ labels: { type }, value: lateSeconds })),
    },
    {
      name: 'atelier_calendars',
      help: `Calendars by their status; counted up to ${countedTo}.`,
      installationWide: true,
      labelNames: ['status'],
      read: async () => (await readCalendars()).map(({ status, count }) => ({ labels: { status }, value: count })),
    },
    {
      name: 'atelier_calendars_stale_seconds',
      help: 'Time since the last read of the connected calendar that has waited longest.',
      installationWide: true,
      read: async () => {
        const connected = (await readCalendars()).filter(({ status }) =>
          calendarStatuses.some((one) => one === status && isConnected(one)),
        );
        return [{ value: Math.max(0, ...connected.map(({ staleSeconds }) => staleSeconds)) }];
      },
    },
  ];
}
