import { startBareTemporal } from '../bare-temporal.ts';
import { startChildProgram } from '../child-program.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { ratePerSecond } from '../load.ts';
import { createWorkflowOfSteps, executeToEnd } from './workflow-of-steps.ts';

const baseline = 'bare workflow, one ordinary activity';
const warmUp = { atOnce: 32, rampMs: 0, windowMs: 2_000 };
const crowd = { atOnce: 32, rampMs: 500, windowMs: 2_500 };

/** What a model says, in Anthropic's form. */
const said = JSON.stringify({
  id: 'msg_bench',
  type: 'message',
  role: 'assistant',
  model: 'bench',
  content: [{ type: 'text', text: 'A short answer.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 20, output_tokens: 5 },
});

/** P25: runs of a live key, whose three steps call a provider that answers at once. */
export const liveRuns: Item = {
  name: 'P25',
  title: 'runs of three live steps on a loopback provider, synchronous: 32 concurrent',
  needs: 'stand',
  async run(stand, cleanup) {
    const provider = await startChildProgram({
      program: 'bare-answer.ts',
      args: [String(stand.providerPort)],
      logFile: stand.file('provider.log'),
    });
    cleanup.add(() => provider.stop());
    await provider.ask({ status: 200, headers: { 'content-type': 'application/json' }, text: said });
    const bare = await startBareTemporal(stand);
    cleanup.add(() => bare.close());
    const live = { ...stand, client: stand.liveClient };
    const id = await createWorkflowOfSteps(live, 3);
    const side = (name: string, operation: () => Promise<unknown>): Side => ({
      name,
      warmUp: () => ratePerSecond(operation, warmUp),
      round: () => ratePerSecond(operation, crowd),
    });
    stand.meter.watch('provider', provider.pid);
    const measured = await interleave(stand.meter, 5, [
      side(baseline, () => bare.execute('oneOrdinary')),
      side('product', () => executeToEnd(live, id)),
    ]);
    stand.meter.unwatch('provider');
    await bare.close();
    await provider.stop();
    return [compare('runs/s', 'at 32', measured, { [baseline]: { atLeast: 0.8 } })];
  },
};
