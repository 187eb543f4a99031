import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';
import type { IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { ActionFailure, ActionStatus } from '../core/action-status.ts';
import type { ActionPriority } from '../definition/integration.ts';

/** One requested action of an integration, and its outcome. Removed a day after its end. */
export const IntegrationAction = defineEntity({
  name: 'IntegrationAction',
  tableName: 'integration_action',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    integration: p.string().length(40),
    action: p.string().length(40),
    /** The provider's id of the account that was connected at the request. */
    accountId: p.string().length(320),
    status: p.string().length(10).$type<ActionStatus>(),
    /** Whether it may be repeated after a lost answer, because it changes nothing. */
    repeatable: p.boolean(),
    /** Sealed JSON. Forgotten when the action ends. */
    payload: p.text().nullable(),
    /** Sealed JSON. */
    answer: p.text().nullable(),
    failure: p.json<ActionFailure>().nullable(),
    /** The claim of its Idempotency-Key, which a failure releases. */
    claim: p.json<Pick<IdempotencyClaim, 'method' | 'path' | 'key'>>().nullable(),
    dueAt: p.datetime(),
    /** Whether it was requested with a delay. */
    delayed: p.boolean(),
    /** Its priority among the actions that wait for a worker. */
    priority: p.string().length(6).$type<ActionPriority>().default('normal'),
    /** At the provider. */
    attempts: p.smallint(),
    /** Pauses between them, in milliseconds. */
    pausedMs: p.integer(),
    /** Whether the attempt under way has sent only requests that change nothing, or that were refused. */
    unsent: p.boolean().default(false),
    /** When the attempt under way began. */
    submittedAt: p.datetime().nullable(),
    /**
     * No other process attempts the action before this time. During an attempt, it is when the process that created the
     * action counts as dead. Between two attempts, it is the end of the pause.
     */
    begunUntil: p.datetime().nullable(),
    correlationId: p.string().length(128),
    createdAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
  },
  indexes: [
    {
      name: 'integration_action_open_index',
      properties: ['dueAt'],
      where: `status in ('scheduled', 'processing')`,
    },
    {
      name: 'integration_action_tenant_open_index',
      properties: ['organizationId', 'environment', 'status'],
      where: `status in ('scheduled', 'processing')`,
    },
    { name: 'integration_action_created_index', properties: ['createdAt'] },
  ],
});
export type IntegrationAction = InferEntity<typeof IntegrationAction>;
