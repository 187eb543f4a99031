import type { FindableRows } from '../platform/parts/findable.ts';

/** The pending work of the outbox. An entry is removed once its work is done. */
export const findableOutbox: FindableRows = {
  kind: 'outbox-entry',
  table: 'outbox',
  state: `case when r.last_error is null then 'waiting' else 'failing' end`,
  reason: 'r.last_error',
  facts: `jsonb_build_object(
    'work', r.kind, 'subject', r.subject_id, 'attempts', r.attempts, 'createdAt', r.created_at,
    'lastAttemptAt', r.last_attempt_at, 'nextAttemptAt', r.available_at)`,
};
