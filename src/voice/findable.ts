import { findableJob } from '../jobs/core/findable.ts';
import { voiceContract } from '../temporal/contracts/voice.ts';

/** What operators find of speech and transcriptions, for a day. */
export const findableCalls = findableJob(voiceContract, {
  kind: 'call',
  table: 'voice_call',
  facts: `jsonb_build_object(
    'type', r.kind, 'price', r.price, 'file', r.file, 'submittedAt', r.submitted_at,
    'createdAt', r.created_at, 'finishedAt', r.finished_at)`,
});
