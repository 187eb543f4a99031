import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { type Operation, timeAlone } from '../load.ts';
import { startLoopbackModel, wholeAnswer } from '../loopback-model.ts';
import type { ProductClient } from '../product-client.ts';

const items = (count: number) => Array.from({ length: count }, (_, index) => index);

async function create(client: ProductClient, steps: object[]): Promise<string> {
  return (await client.post<{ id: string }>('/api/v1/workflows', { name: 'Bench', steps })).id;
}

async function execute(client: ProductClient, id: string, input: unknown): Promise<void> {
  const { status } = await client.post<{ status: string }>(`/api/v1/workflows/${id}/execute`, { input });
  if (status !== 'COMPLETED') throw new Error(`A run ended as ${status}.`);
}

const side = (name: string, operation: Operation, count: number): Side => ({
  name,
  warmUp: operation,
  round: () => timeAlone(operation, { count }),
});

const increment = { id: 'one', type: 'transform', expression: 'item + 1' };

/** P30: one run of a thousand items against a thousand runs. */
export const mapOfTransforms: Item = {
  name: 'P30',
  title: 'a map of 1,000 items of one transform, synchronous, against the same as 1,000 runs one after the other',
  needs: 'stand',
  async run({ client, meter }) {
    const map = await create(client, [{ id: 'each', type: 'map', items: 'input', steps: [increment] }]);
    const alone = await create(client, [{ ...increment, expression: 'input + 1' }]);
    const runs = async () => {
      for (const item of items(1_000)) await execute(client, alone, item);
    };
    const measured = await interleave(meter, 3, [
      side('1,000 runs', runs, 1),
      side('product', () => execute(client, map, items(1_000)), 1),
    ]);
    return [compare('ms', '1,000 transforms', measured, { '1,000 runs': { atMost: 0.05 } })];
  },
};

/** P31: calls beside each other in one run. */
export const mapOfPrompts: Item = {
  name: 'P31',
  title: 'a map of 200 prompts on a loopback provider that answers after 50 ms, 20 at once, synchronous',
  needs: 'stand',
  async run(stand, cleanup) {
    const provider = await startLoopbackModel(stand, cleanup);
    await provider.answerWith('application/json', wholeAnswer, 50);
    const { liveClient, meter } = stand;
    const ask = { id: 'ask', type: 'prompt', prompt: 'Say something about {{item}}' };
    const id = await create(liveClient, [{ id: 'each', type: 'map', items: 'input', concurrency: 20, steps: [ask] }]);
    const ideal = () => new Promise((resolve) => setTimeout(resolve, 500));
    const measured = await interleave(meter, 5, [
      side('ten rounds of 50 ms', ideal, 1),
      side('product', () => execute(liveClient, id, items(200)), 1),
    ]);
    await provider.stop();
    return [compare('ms', '200 prompts', measured, { 'ten rounds of 50 ms': { atMost: 2 } })];
  },
};
