import type { RunProgress, RunRef } from '../src/automation/advance-run.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import type { createRunActivities } from './runs.ts';

type StepRef = RunRef & WorkContext & { position: number; last: boolean; maxAttempts: number };
type StepOutcome = 'completed' | 'failed' | 'gone' | 'not_instant';

/** What workflows of the version before knew: they walk the positions themselves, one by one. */
function outcomeOf(progress: RunProgress, position: number): StepOutcome {
  switch (progress.kind) {
    case 'call':
      return progress.position > position ? 'completed' : 'not_instant';
    case 'walk':
      return 'completed';
    case 'ended':
      // To them, a run that is complete before its last step is one that has nothing left to do.
      return progress.status === 'failed' ? 'failed' : 'gone';
    case 'gone':
      return 'gone';
  }
}

/**
 * Activities under the names by which runs ask for them that began before steps were walked together. They are pinned
 * to the code that they began with; this goes when none of them can be open.
 */
export const createEarlierRunActivities = ({ walkSteps, callStep }: ReturnType<typeof createRunActivities>) => ({
  async performInstantStep(ref: StepRef): Promise<StepOutcome> {
    return outcomeOf(await walkSteps(ref), ref.position);
  },
  async performStep(ref: StepRef): Promise<StepOutcome> {
    return outcomeOf(await callStep(ref), ref.position);
  },
  async completeRun(ref: RunRef & WorkContext): Promise<void> {
    await walkSteps(ref);
  },
});
