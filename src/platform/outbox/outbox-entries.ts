import type { Database } from '../database/database.ts';
import { sqlOn, systemStatement } from '../database/sql.ts';
import { typed } from '../database/sql-types.ts';
import type { Environment, Tenant } from '../tenant.ts';

/** An outbox entry as operators see it. */
export interface OutboxEntryView extends Tenant {
  id: string;
  kind: string;
  subjectId: string;
  correlationId: string;
  /** By the drain. */
  attempts: number;
  /** The error that the last attempt ended with, in one line. */
  lastError: string | null;
  createdAt: Date;
  lastAttemptAt: Date | null;
  nextAttemptAt: Date;
}

const list = systemStatement({
  name: 'outbox.list',
  parameters: { kind: 'text?', failing: 'boolean', limit: 'int' },
  row: {
    id: 'uuid',
    kind: 'text',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    subjectId: 'uuid',
    correlationId: 'text',
    attempts: 'int',
    lastError: 'text?',
    createdAt: 'timestamptz',
    lastAttemptAt: 'timestamptz?',
    nextAttemptAt: 'timestamptz',
  },
  text: `select id, kind, organization_id as "organizationId", environment, subject_id as "subjectId",
          correlation_id as "correlationId", attempts, last_error as "lastError", created_at as "createdAt",
          last_attempt_at as "lastAttemptAt", available_at as "nextAttemptAt"
     from outbox
    where (:kind is null or kind = :kind) and (not :failing or last_error is not null)
    order by id limit :limit`,
});

interface OutboxFilter {
  kind?: string | undefined;
  /** Only entries whose last attempt failed. */
  failing?: boolean | undefined;
  limit: number;
}

/** Lists entries of all tenants, oldest first. */
export const listOutbox = (
  database: Database,
  { kind, failing = false, limit }: OutboxFilter,
): Promise<OutboxEntryView[]> => sqlOn(database.pool).rows(list, { kind: kind ?? null, failing, limit });
