import type { Database } from './database.ts';
import { sqlOn, statement } from './sql.ts';
import type { Tenant } from './tenant.ts';

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

const list = statement<OutboxEntryView>(
  'outbox.list',
  `select id, kind, organization_id as "organizationId", environment, subject_id as "subjectId",
          correlation_id as "correlationId", attempts, last_error as "lastError", created_at as "createdAt",
          last_attempt_at as "lastAttemptAt", available_at as "nextAttemptAt"
     from outbox
    where ($1::text is null or kind = $1) and (not $2::boolean or last_error is not null)
    order by id limit $3`,
);

export interface OutboxFilter {
  kind?: string | undefined;
  /** Only entries whose last attempt failed. */
  failing?: boolean | undefined;
  limit: number;
}

/** Lists entries of all tenants, oldest first. */
export const listOutbox = (
  database: Database,
  { kind, failing = false, limit }: OutboxFilter,
): Promise<OutboxEntryView[]> => sqlOn(database.pool).rows(list, [kind ?? null, failing, limit]);
