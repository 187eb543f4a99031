import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { runIds } from '../core/ids.ts';
import { runNotFound } from '../errors.ts';
import { getRun, type RunDetail } from './runs.ts';

/** What may be changed of a run that was started. */
export interface RunChange {
  /** While its delay lasts. */
  startAt?: Date | undefined;
  tags?: readonly string[] | undefined;
  metadata?: Record<string, unknown> | null | undefined;
}

const hold = statement({
  name: 'run.hold_to_change',
  parameters: { runId: 'uuid' },
  row: { isDelayed: 'boolean' },
  text: `select coalesce(r.queued_for = 'delay', false) as "isDelayed"
     from run r join automation a on a.id = r.automation_id and a.deleted_at is null
    where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId for update of r`,
});

// The time from the end of the delay to the expiry stays as it is.
const postpone = statement({
  name: 'run.postpone',
  parameters: { runId: 'uuid', startAt: 'timestamptz' },
  text: `update run set expires_at = expires_at + (:startAt - scheduled_for), scheduled_for = :startAt
    where organization_id = :organizationId and environment = :environment and id = :runId`,
});

const describe = statement({
  name: 'run.describe',
  parameters: { runId: 'uuid', tags: 'jsonb?', changesMetadata: 'boolean', metadata: 'jsonb?' },
  text: `update run set tags = coalesce(:tags, tags), metadata = case when :changesMetadata then :metadata::json else metadata end
    where organization_id = :organizationId and environment = :environment and id = :runId`,
});

const retag = statement({
  name: 'run.retag',
  parameters: { runId: 'uuid', tags: 'text[]' },
  text: `with gone as (
     delete from run_tag
      where organization_id = :organizationId and environment = :environment and run_id = :runId and tag <> all(:tags))
   insert into run_tag (run_id, tag, organization_id, environment, created_at)
   select r.id, t.tag, r.organization_id, r.environment, r.created_at from run r cross join unnest(:tags) as t (tag)
    where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId
   on conflict do nothing`,
});

/**
 * Changes a run. A new start in the past is now.
 * @param id in either form
 * @throws AppError run_not_found; conflict when `startAt` is given and the run is not delayed
 */
export async function changeRun(scope: Scope, id: string, { startAt, tags, metadata }: RunChange): Promise<RunDetail> {
  const runId = runIds.parse(id);
  if (!runId) throw runNotFound(id);
  await scope.transaction(async (tx) => {
    const run = await tx.one(hold, { runId });
    if (!run) throw runNotFound(id);
    if (startAt) {
      if (!run.isDelayed)
        throw new AppError('conflict', 'The run has no delay, or its delay has ended.', { runId: id });
      await tx.rows(postpone, { runId, startAt });
    }
    if (tags || metadata !== undefined) {
      await tx.rows(describe, {
        runId,
        tags: tags ? JSON.stringify(tags) : null,
        changesMetadata: metadata !== undefined,
        metadata: metadata ? JSON.stringify(metadata) : null,
      });
    }
    if (tags) await tx.rows(retag, { runId, tags });
  });
  return getRun(scope, id);
}
