import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { generationStates } from './core/status.ts';
import { wakeGeneration } from './job.ts';

// Only where the answer to the submission was lost: the id is known in every other case.
const findReported = systemStatement({
  name: 'generation.reported',
  parameters: { generationId: 'uuid', upstreamId: 'text' },
  row: { id: 'uuid' },
  text: `update generation set upstream_id = coalesce(upstream_id, :upstreamId), asked_at = atelier_now()
    where id = :generationId and submitted_at is not null and status in (${generationStates.sql('processing')})
   returning id`,
});

/**
 * A provider reported on a job, so its workflow now asks the provider. A report is a hint and not a result. It also
 * contains the provider's id of a job whose submission got no answer. Harmless at any time, and for a generation that
 * does not exist.
 * @param upstreamId the provider's id of the job, at most 200 characters
 */
export async function providerReported(
  { database, temporal }: { database: Database; temporal: TemporalClient },
  generationId: string,
  upstreamId: string,
): Promise<void> {
  const found = await sqlOn(database.pool).one(findReported, { generationId, upstreamId });
  if (found) await wakeGeneration(temporal, generationId);
}
