import { startBareTemporal } from '../bare-temporal.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { ratePerSecond } from '../load.ts';
import { startLoopbackModel, wholeAnswer } from '../loopback-model.ts';
import { createWorkflowOfSteps, executeToEnd } from './workflow-of-steps.ts';

const baseline = 'bare workflow, one ordinary activity';
const warmUp = { concurrency: 32, rampMs: 0, windowMs: 2_000 };
const crowd = { concurrency: 32, rampMs: 500, windowMs: 2_500 };

/** P25: runs of a live key, whose three steps call a provider that answers at once. */
export const liveRuns: Item = {
  name: 'P25',
  title: 'runs of three live steps on a loopback provider, synchronous: 32 concurrent',
  needs: 'stand',
  async run(stand, cleanup) {
    const provider = await startLoopbackModel(stand, cleanup);
    await provider.answerWith('application/json', wholeAnswer);
    const bare = await startBareTemporal(stand);
    cleanup.add(() => bare.close());
    const live = { ...stand, client: stand.liveClient };
    const id = await createWorkflowOfSteps(live, 3);
    const side = (name: string, operation: () => Promise<unknown>): Side => ({
      name,
      warmUp: () => ratePerSecond(operation, warmUp),
      round: () => ratePerSecond(operation, crowd),
    });
    const measured = await interleave(stand.meter, 5, [
      side(baseline, () => bare.execute('oneOrdinary')),
      side('product', () => executeToEnd(live, id)),
    ]);
    await bare.close();
    await provider.stop();
    return [compare('runs/s', 'at 32', measured, { [baseline]: { atLeast: 0.8 } })];
  },
};
