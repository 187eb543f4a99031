import { memoize } from '../platform/concurrency/memoize.ts';
import { systemStatement } from '../platform/database/sql.ts';
import { type GaugeOptions, gaugeTimeoutMs } from '../platform/observability/metrics.ts';
import type { Probe } from '../platform/observability/probe.ts';
import { actionStates } from './core/action-status.ts';
import { integrationStates } from './core/connection-status.ts';

const cachedMs = 5_000;
const countedTo = 10_000;
const openAction = actionStates.sql('scheduled', 'processing');

// Reads the index of open actions: the cost does not grow with ended ones.
const openActions = systemStatement({
  name: 'gauges.open_actions',
  row: { status: 'text', count: 'int', lateSeconds: 'float8' },
  text: `select wanted.status, count(open.due_at)::int as count,
          greatest(coalesce(extract(epoch from atelier_now() - min(open.due_at)), 0), 0)::float8 as "lateSeconds"
     from unnest(array[${openAction}]) as wanted (status)
     left join (select status, due_at from integration_action where status in (${openAction})
                 order by due_at limit ${countedTo}) open using (status)
    group by wanted.status`,
});

const connections = systemStatement({
  name: 'gauges.integrations',
  row: { status: 'text', count: 'int' },
  text: `select wanted.status, count(found.status)::int as count
     from unnest(array[${integrationStates.sql('connected', 'auth_expired')}]) as wanted (status)
     left join (select status from integration_connection limit ${countedTo}) found using (status)
    group by wanted.status`,
});

// Reads the index of events that have to be fetched.
const waitingEvents = systemStatement({
  name: 'gauges.integration_events',
  row: { count: 'int', oldestSeconds: 'float8' },
  text: `select count(*)::int as count,
          coalesce(extract(epoch from atelier_now() - min(received_at)), 0)::float8 as "oldestSeconds"
     from (select received_at from integration_inbound_event where reference is not null limit ${countedTo}) waiting`,
});

/** Actions that have not ended, connections, and events that providers sent without their data. */
export function integrationGauges(observer: Probe): GaugeOptions[] {
  const readActions = memoize(cachedMs, () => observer.rows(openActions, gaugeTimeoutMs));
  const readConnections = memoize(cachedMs, () => observer.rows(connections, gaugeTimeoutMs));
  const readEvents = memoize(cachedMs, () => observer.rows(waitingEvents, gaugeTimeoutMs));
  return [
    {
      name: 'atelier_actions_open',
      help: `Actions of integrations that have not ended; counted up to ${countedTo}.`,
      installationWide: true,
      labelNames: ['status'],
      read: async () => (await readActions()).map(({ status, count }) => ({ labels: { status }, value: count })),
    },
    {
      name: 'atelier_actions_late_seconds',
      help: 'How long ago the first of them was due; 0 when none is due.',
      installationWide: true,
      labelNames: ['status'],
      read: async () =>
        (await readActions()).map(({ status, lateSeconds }) => ({ labels: { status }, value: lateSeconds })),
    },
    {
      name: 'atelier_integrations',
      help: `Connected integrations by their status; counted up to ${countedTo}.`,
      installationWide: true,
      labelNames: ['status'],
      read: async () => (await readConnections()).map(({ status, count }) => ({ labels: { status }, value: count })),
    },
    {
      name: 'atelier_integration_events_open',
      help: `Events whose data have to be fetched from the provider; counted up to ${countedTo}.`,
      installationWide: true,
      read: async () => (await readEvents()).map(({ count }) => ({ value: count })),
    },
    {
      name: 'atelier_integration_events_open_oldest_seconds',
      help: 'Time since the oldest of them was received; 0 when there is none.',
      installationWide: true,
      read: async () => (await readEvents()).map(({ oldestSeconds }) => ({ value: oldestSeconds })),
    },
  ];
}
