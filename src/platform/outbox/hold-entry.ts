import type { Scope } from '../database/scope.ts';
import { statement } from '../database/sql.ts';

const hold = statement({
  name: 'outbox.hold',
  parameters: { kind: 'text', subjectId: 'uuid' },
  row: { id: 'uuid' },
  text: `update outbox set available_at = greatest(available_at, atelier_now() + interval '30 seconds')
    where organization_id = :organizationId and environment = :environment and kind = :kind and subject_id = :subjectId
   returning id`,
});

/** The work was done by another attempt, while this one waited to begin it. */
export class EntryDone extends Error {}

/**
 * For work that may take longer than `directGraceMs`, such as a mail to a slow server: the drain, which would do it a
 * second time, leaves its entry alone for 30 seconds from now on.
 * @throws EntryDone when there is no entry any longer
 */
export async function holdEntry(scope: Scope, entry: { kind: string; subjectId: string }): Promise<void> {
  if (!(await scope.one(hold, entry))) throw new EntryDone();
}
