import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { type RowOf, statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { expireApproval } from '../approvals/respond.ts';
import { approvalIds } from '../core/ids.ts';
import type { RunErrorCode } from '../core/run-status.ts';
import type { EventStep } from '../core/step-types.ts';
import type { Step } from '../core/steps.ts';
import type { StoredOutcome, WaitOutcome, WaitState, WaitType } from '../core/waits.ts';
import { failPoint } from '../fail-points.ts';
import type { StepEnd } from '../steps/step-context.ts';
import { storable } from '../steps/storable.ts';
import { resolveWait } from './waits.ts';

const findWaits = statement({
  name: 'run_wait.of_run',
  parameters: { runId: 'uuid' },
  row: {
    id: 'uuid',
    path: 'text',
    stepId: 'text',
    type: typed<WaitType>('text'),
    until: 'timestamptz?',
    event: 'text?',
    state: typed<WaitState>('text'),
    outcome: typed<StoredOutcome | null>('json?'),
    subjectId: 'uuid?',
    eventId: 'uuid?',
  },
  text: `select id, path, step_id as "stepId", type, until, event, state, outcome, subject_id as "subjectId",
          event_id as "eventId" from run_wait
    where organization_id = :organizationId and environment = :environment and run_id = :runId and (state = 'open' or outcome is not null)
    order by since, path`,
});

export type WaitRow = RowOf<typeof findWaits>;

/** The waits of a run, and those that ended since its steps were recorded. */
export const readWaits = (scope: Scope, runId: string): Promise<WaitRow[]> => scope.rows(findWaits, { runId });

const closeStatement = statement({
  name: 'run_wait.close',
  parameters: { runId: 'uuid', paths: 'text[]' },
  row: { id: 'uuid' },
  text: `update run_wait set state = 'resolved', outcome = null, resolved_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and run_id = :runId and path = any(:paths) and (state = 'open' or outcome is not null)
   returning id`,
});

/** Closes the waits of steps that are stopped. */
export async function closeWaits(scope: Scope, runId: string, paths: readonly string[]): Promise<void> {
  await scope.rows(closeStatement, { runId, paths });
}

const failed = (code: RunErrorCode, message: string): WaitOutcome => ({ error: { code, message } });

/** What happens to a wait whose time is over. */
function outcomeInTime(step: Step, until: Date): WaitOutcome {
  if (step.type === 'wait') return { output: { until: until.toISOString() } };
  if (step.type === 'event') return outcomeOfEvent(step);
  return failed('timeout', 'The step waited until its timeout.');
}

const outcomeOfEvent = ({ onTimeout, event }: EventStep): WaitOutcome =>
  onTimeout === 'continue' ? { output: null } : failed('event_timeout', `No event ${event} arrived in time.`);

export const isDue = ({ state, until }: WaitRow, now: number): boolean =>
  state === 'open' && until !== null && until.getTime() <= now;

/**
 * Ends the waits that have timed out, as their steps define.
 * @returns whether there were any: what became of them is to be read again
 */
export async function resolveDueWaits(
  scope: Scope,
  waits: readonly WaitRow[],
  stepAt: (path: string) => Step,
): Promise<boolean> {
  const now = clock.now();
  const due = waits.filter((wait) => wait.type !== 'slot' && isDue(wait, now));
  for (const { id, path, until, subjectId } of due) {
    const step = stepAt(path);
    await scope.transaction(async (tx) => {
      if (step.type === 'approval' && subjectId !== null) await expireApproval(tx, step, subjectId);
      else await resolveWait(tx, { waitId: id }, outcomeInTime(step, until!));
    });
    failPoint('wait.resolved');
  }
  return due.length > 0;
}

/** The end of a step that waited. */
export function endOfWaiting(outcome: WaitOutcome): StepEnd {
  if ('error' in outcome) return { status: 'failed', ...outcome.error };
  const output = storable(outcome.output);
  if (output) return { status: 'completed', output };
  return { status: 'failed', code: 'output_too_large', message: 'The result that the step waited for is too large.' };
}

const words: Record<WaitType, (wait: WaitRow) => string> = {
  wait: () => 'for its time',
  event: ({ event }) => `for the event \`${event}\``,
  approval: ({ subjectId }) => `for the approval \`${approvalIds.format(subjectId!)}\``,
  workflow: ({ subjectId }) => `for the run \`${subjectId}\``,
  job: ({ subjectId }) => `for the job \`${subjectId}\``,
  slot: () => 'for a slot of the plan',
};

/** Lines that operators see of a waiting run. */
const maxLines = 10;

/** The waits of a run, one per line. */
export function describeWaits(waits: readonly WaitRow[]): string {
  const open = waits.filter(({ state }) => state === 'open');
  const lines = open.slice(0, maxLines).map((wait) => {
    const until = wait.until ? ` until ${wait.until.toISOString()}` : '';
    return `The step \`${wait.path}\` waits ${words[wait.type](wait)}${until}.`;
  });
  const more = open.length - lines.length;
  return more > 0 ? [...lines.slice(0, -1), `${more + 1} more steps wait.`].join('\n') : lines.join('\n');
}
