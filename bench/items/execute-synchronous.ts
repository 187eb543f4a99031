import { startBareTemporal } from '../bare-temporal.ts';
import { interleave } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { ratePerSecond, timeAlone } from '../load.ts';
import { createWorkflowOfSteps, executeToEnd } from './workflow-of-steps.ts';

const baseline = 'bare workflow, one ordinary activity';
const warmUp = { concurrency: 16, rampMs: 0, windowMs: 2_000 };

/** P4: a whole run, from the request to the recorded result in the answer. */
export const executeSynchronous: Item = {
  name: 'P4',
  title: 'POST /api/v1/workflows/{id}/execute, synchronous, one sandbox step, p50 alone',
  needs: 'stand',
  async run(stand, cleanup) {
    const id = await createWorkflowOfSteps(stand, 1);
    const bare = await startBareTemporal(stand);
    cleanup.add(() => bare.close());
    const plain = () => bare.execute('oneOrdinary');
    const execute = () => executeToEnd(stand, id);
    const measured = await interleave(stand.meter, 7, [
      { name: baseline, warmUp: () => ratePerSecond(plain, warmUp), round: () => timeAlone(plain, { count: 25 }) },
      { name: 'product', warmUp: () => ratePerSecond(execute, warmUp), round: () => timeAlone(execute, { count: 25 }) },
    ]);
    await bare.close();
    return [compare('ms', 'p50', measured, { [baseline]: { atMost: 0.9 } })];
  },
};
