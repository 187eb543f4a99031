import type { FindableRows } from '../platform/findable.ts';
import { generationWorkflowId } from '../temporal/contracts/studio.ts';
import { generationIds, videoIds } from './core/ids.ts';
import { creditKey } from './create-generation.ts';

/** What operators find of Studio. */
export const findableGenerations: FindableRows = {
  kind: 'generation',
  table: 'generation',
  ids: [generationIds, videoIds],
  state: 'r.status',
  reason: `(r.error->>'code') || ': ' || (r.error->>'message')`,
  facts: `jsonb_build_object(
    'type', r.kind, 'model', r.request->>'model', 'progress', r.progress, 'credits', r.credits, 'file', r.file,
    'submittedAt', r.submitted_at, 'upstreamId', r.upstream_id, 'askedAt', r.asked_at,
    'createdAt', r.created_at, 'finishedAt', r.finished_at)`,
  workflowId: generationWorkflowId,
  creditKey,
};
