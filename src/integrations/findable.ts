import { findableJob } from '../jobs/core/findable.ts';
import type { FindableRows } from '../platform/parts/findable.ts';
import { followScheduleId } from '../temporal/contracts/followed-integrations.ts';
import { actionContract } from '../temporal/contracts/integrations.ts';
import { actionRunIds, integrationConnectionIds } from './core/ids.ts';

/** What operators find of integrations: actions for a day, and connections. */
export const findableIntegrations: readonly FindableRows[] = [
  findableJob(actionContract, {
    kind: 'action',
    table: 'integration_action',
    ids: [actionRunIds],
    reason: `(r.failure->>'code') || coalesce(' (' || (r.failure->>'providerCode') || ')', '')`,
    facts: `jsonb_build_object(
    'integration', r.integration, 'action', r.action, 'delayed', r.delayed, 'dueAt', r.due_at,
    'priority', r.priority, 'attempts', r.attempts, 'pausedMs', r.paused_ms, 'submittedAt', r.submitted_at,
    'createdAt', r.created_at, 'finishedAt', r.finished_at)`,
  }),
  {
    kind: 'integration',
    table: 'integration_connection',
    ids: [integrationConnectionIds],
    state: 'r.status',
    reason: `case when r.status = 'auth_expired'
      then 'The provider no longer accepts our access. The account has to be connected again.' end`,
    facts: `(select jsonb_build_object(
        'integration', r.integration, 'connectedAt', r.connected_at, 'accessExpiresAt', c.access_expires_at,
        'refreshAt', c.refresh_at, 'refreshedElsewhereUntil', c.lease_until)
      from (select) as one left join oauth_connection c on c.id = r.connection_id)`,
    correlation: `'${followScheduleId('')}' || r.id::text`,
    workflowId: followScheduleId,
  },
];
