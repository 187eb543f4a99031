import type { FindableRows } from '../platform/findable.ts';
import { voiceCallWorkflowId } from '../temporal/contracts/voice.ts';
import { creditKey } from './end-call.ts';

/** What operators find of speech and transcriptions, for a day. */
export const findableCalls: FindableRows = {
  kind: 'call',
  table: 'voice_call',
  state: 'r.status',
  reason: `(r.error->>'code') || ': ' || (r.error->>'message')`,
  facts: `jsonb_build_object(
    'type', r.kind, 'price', r.price, 'file', r.file, 'submittedAt', r.submitted_at,
    'createdAt', r.created_at, 'finishedAt', r.finished_at)`,
  workflowId: voiceCallWorkflowId,
  creditKey,
};
