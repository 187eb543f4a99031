import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';
import type { BulkActionStatus, BulkActionType, BulkError } from '../core/bulk-actions.ts';
import type { RetryDefinition } from '../runs/retry-run.ts';

/** Runs that are cancelled or retried one after the other. */
export const BulkAction = defineEntity({
  name: 'BulkAction',
  tableName: 'bulk_action',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    action: p.string().length(6).$type<BulkActionType>(),
    /** The definition that retries use. */
    definition: p.string().length(7).$type<RetryDefinition>(),
    status: p.string().length(9).$type<BulkActionStatus>(),
    total: p.integer(),
    /**
     * The runs in the order in which they were found at its creation. Texts that are not ids are already among the
     * failed ones.
     */
    runIds: p.array<string>().columnType('uuid[]'),
    /** How many of `runIds` are done. */
    done: p.integer(),
    succeeded: p.integer(),
    failed: p.integer(),
    skipped: p.integer(),
    /** The first ones. */
    errors: p.json<BulkError[]>().columnType('json'),
    createdAt: p.datetime(),
    completedAt: p.datetime().nullable(),
    correlationId: p.string().length(128),
  },
  indexes: [
    { name: 'bulk_action_list_index', properties: ['organizationId', 'environment', 'createdAt', 'id'] },
    {
      name: 'bulk_action_open_index',
      properties: ['organizationId', 'environment'],
      where: 'completed_at is null',
    },
  ],
});
