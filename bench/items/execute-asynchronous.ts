import { startBareTemporal } from '../bare-temporal.ts';
import { interleave } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { ratePerSecond, timeAlone } from '../load.ts';
import { createWorkflowOfSteps, executeToEnd } from './workflow-of-steps.ts';

const baseline = 'client.workflow.start';
const warmUp = { concurrency: 8, rampMs: 0, windowMs: 1_500 };

/** P3: how long a caller waits who only wants to know that the run will happen. */
export const executeAsynchronous: Item = {
  name: 'P3',
  title: 'POST /api/v1/workflows/{id}/execute, asynchronous, p50 alone',
  needs: 'stand',
  async run(stand, cleanup) {
    const id = await createWorkflowOfSteps(stand, 1);
    const bare = await startBareTemporal(stand);
    cleanup.add(() => bare.close());
    const start = () => bare.start('nothing');
    // `inputs` is dialect B, which does not wait unless it says so.
    const body = { inputs: { input: 'a text of some words', style: 'plain' } };
    const execute = () => stand.client.post(`/api/v1/workflows/${id}/execute`, body);
    // Warmed up by whole runs: accepted ones would still be executing when the measurement begins.
    const measured = await interleave(stand.meter, 7, [
      {
        name: baseline,
        warmUp: () => ratePerSecond(() => bare.execute('nothing'), warmUp),
        round: () => timeAlone(start, { count: 40 }),
      },
      {
        name: 'product',
        warmUp: () => ratePerSecond(() => executeToEnd(stand, id), warmUp),
        round: () => timeAlone(execute, { count: 40 }),
      },
    ]);
    await bare.close();
    return [compare('ms', 'p50', measured, { [baseline]: { atMost: 0.7 } })];
  },
};
