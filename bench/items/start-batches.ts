import { setTimeout as sleep } from 'node:timers/promises';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { timeAlone } from '../load.ts';
import { openNeighbour } from '../neighbour.ts';
import { median } from '../statistics.ts';

const size = 1_000;
const rounds = 3;
const steps = [{ id: 'one', type: 'transform', expression: 'input + 1' }];
const items = Array.from({ length: size }, (_, input) => ({ input }));

/** P34: how soon a batch is accepted, and what it costs another organization. */
export const startBatches: Item = {
  name: 'P34',
  title: `a batch of ${size} items accepted, p50; a synchronous run of another organization beside it, p50`,
  needs: 'stand',
  async run(stand) {
    const { client, meter } = stand;
    const other = await openNeighbour(stand);
    const create = async (of: typeof client) =>
      (await of.post<{ id: string }>('/api/v1/workflows', { name: 'Batch', steps })).id;
    const [id, otherId] = [await create(client), await create(other)];
    const execute = () => other.post(`/api/v1/workflows/${otherId}/execute`, { input: 1 });
    const accepted: number[] = [];
    const startBatch = async (): Promise<string> => {
      const begun = performance.now();
      const { status, text } = await client.send('POST', `/api/v1/workflows/${id}/batch`, { items });
      if (status !== 202) throw new Error(`The batch was answered with ${status}: ${text.slice(0, 300)}`);
      accepted.push(performance.now() - begun);
      return JSON.parse(text).data.batchId;
    };
    const untilEnded = async (batchId: string) => {
      while ((await client.get<{ completedAt: unknown }>(`/api/v1/batches/${batchId}`)).completedAt === null)
        await sleep(250);
    };
    const quiet: Side = {
      name: 'quiet',
      warmUp: () => timeAlone(execute, { count: 20 }),
      round: () => timeAlone(execute, { count: 20 }),
    };
    const beside: Side = {
      name: 'product',
      warmUp: async () => untilEnded(await startBatch()),
      async round() {
        const starting = startBatch();
        const measured = await timeAlone(execute, { count: 20 });
        await untilEnded(await starting);
        return measured;
      },
    };
    const measured = await interleave(meter, rounds, [quiet, beside]);
    other.close();
    return [
      {
        rows: [{ name: `a batch of ${size} accepted`, unit: 'ms', values: accepted }],
        verdicts: [{ name: 'ms until a batch is accepted, p50', values: [median(accepted)], aim: { atMost: 500 } }],
      },
      compare('ms', 'a run of another organization', measured, { quiet: { atMost: 2 } }),
    ];
  },
};
