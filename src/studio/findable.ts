import { findableJob } from '../jobs/core/findable.ts';
import { generationContract } from '../temporal/contracts/studio.ts';
import { generationIds, videoIds } from './core/ids.ts';

/** What operators find of Studio. */
export const findableGenerations = findableJob(generationContract, {
  kind: 'generation',
  table: 'generation',
  ids: [generationIds, videoIds],
  facts: `jsonb_build_object(
    'type', r.kind, 'model', r.request->>'model', 'progress', r.progress, 'credits', r.credits, 'file', r.file,
    'submittedAt', r.submitted_at, 'upstreamId', r.upstream_id, 'askedAt', r.asked_at,
    'createdAt', r.created_at, 'finishedAt', r.finished_at)`,
  search: {
    scope: 'studio',
    title: `left(coalesce(r.request->>'prompt', replace(r.kind, '_', ' ')), 100)`,
    at: 'r.created_at',
    printedId: `case r.kind when 'video' then '${videoIds.prefix}_' else '${generationIds.prefix}_' end || replace(r.id::text, '-', '')`,
    by: { correlation: 'r.correlation_id = :text' },
  },
});
