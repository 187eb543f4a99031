import { type BareTemporal, type BareWorkflow, startBareTemporal } from '../bare-temporal.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { ratePerSecond, timeAlone } from '../load.ts';
import type { Stand } from '../stand.ts';
import { createWorkflowOfSteps, executeToEnd } from './workflow-of-steps.ts';

const threeOrdinary = 'bare, three ordinary activities';
const threeLocal = 'bare, three local activities';
const threeLocalEager = 'bare, three local activities, started eagerly from the worker';

const warmUp = { concurrency: 32, rampMs: 0, windowMs: 2_000 };
const crowd = { concurrency: 32, rampMs: 500, windowMs: 2_500 };
const alone = { count: 20 };

interface Contender {
  name: string;
  warmUp: Side['warmUp'];
  many: Side['round'];
  one: Side['round'];
}

/** P5: runs of three prompt steps through the whole API, each step and the result recorded, beside empty workflows. */
export const runThroughput: Item = {
  name: 'P5',
  title: 'runs of three sandbox steps, synchronous: 32 concurrent, and alone',
  needs: 'stand',
  async run(stand, cleanup) {
    const bare = await startBareTemporal(stand);
    cleanup.add(() => bare.close());
    const contenders = await contend(stand, bare);
    const sides = (round: 'many' | 'one') =>
      contenders.map((one): Side => ({ name: one.name, warmUp: one.warmUp, round: one[round] }));
    const many = await interleave(stand.meter, 5, sides('many'));
    const one = await interleave(
      stand.meter,
      5,
      sides('one').map((side) => ({ ...side, warmUp: async () => {} })),
    );
    await bare.close();
    return [compare('runs/s', 'at 32', many, { [threeLocal]: { atLeast: 1 } }), compare('ms', 'p50 alone', one, {})];
  },
};

async function contend(stand: Stand, bare: BareTemporal): Promise<Contender[]> {
  const id = await createWorkflowOfSteps(stand, 3);
  const driven = (name: string, operation: () => Promise<unknown>): Contender => ({
    name,
    warmUp: () => ratePerSecond(operation, warmUp),
    many: () => ratePerSecond(operation, crowd),
    one: () => timeAlone(operation, alone),
  });
  const eager = (name: string, workflow: BareWorkflow): Contender => ({
    name,
    warmUp: () => bare.driveEagerly(workflow, warmUp),
    many: () => bare.driveEagerly(workflow, crowd),
    one: () => bare.driveEagerly(workflow, alone),
  });
  return [
    driven(threeOrdinary, () => bare.execute('threeOrdinary')),
    driven(threeLocal, () => bare.execute('threeLocal')),
    eager(threeLocalEager, 'threeLocal'),
    driven('product', () => executeToEnd(stand, id)),
  ];
}
