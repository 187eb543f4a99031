import type { Scope } from '../../../platform/database/scope.ts';
import { statement } from '../../../platform/database/sql.ts';
import { openStep } from '../../core/run-status.ts';

const markSent = statement({
  name: 'run_step.mark_sent',
  parameters: { runId: 'uuid', position: 'int' },
  row: { position: 'int' },
  text: `update run_step set sent_at = atelier_statement_now()
          where organization_id = :organizationId and environment = :environment and run_id = :runId
            and position = :position and sent_at is null and status in (${openStep})
         returning position`,
});

/** Another attempt of the step may have sent its request, whose answer is lost. */
export class AlreadySent extends Error {
  override name = 'AlreadySent';
}

/** Records that a step is about to send a request that must not be sent twice. @throws AlreadySent */
export async function recordSending(scope: Scope, step: { runId: string; position: number }): Promise<void> {
  if (!(await scope.one(markSent, step))) throw new AlreadySent();
}
