import { Atelier } from '../../sdk/typescript/src/index.ts';
import { interleave, type Side } from '../interleave.ts';
import type { Item } from '../item.ts';
import { ProductClient } from '../product-client.ts';
import { createWorkflowOfSteps } from './workflow-of-steps.ts';

const requests = 300;

/** The mean time of a request in milliseconds, one after the other. */
async function meanMs(send: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let sent = 0; sent < requests; sent++) await send();
  return (performance.now() - start) / requests;
}

/** P36: what the TypeScript client costs on top of the `fetch` that it uses. */
export const clientReads: Item = {
  name: 'P36',
  title: 'runs.get of the TypeScript client against bare fetch, one at a time',
  needs: 'stand',
  async run(stand) {
    const workflowId = await createWorkflowOfSteps(stand, 3);
    const client = new ProductClient(stand.api, stand.key);
    const started = await client.post<{ runId: string }>(`/api/v1/workflows/${workflowId}/execute`, { input: 'x' });
    const atelier = new Atelier({ baseUrl: stand.api, apiKey: stand.key });
    const headers = { authorization: `Bearer ${stand.key}` };
    const bare = async () => {
      const response = await fetch(`${stand.api}/api/v1/runs/${started.runId}`, { headers });
      return (await response.json()) as unknown;
    };
    const side = (name: string, send: () => Promise<unknown>): Side => ({
      name,
      warmUp: () => meanMs(send),
      round: async () => ({ value: await meanMs(send), operations: requests }),
    });
    const measured = await interleave(stand.meter, 7, [
      side('bare fetch', bare),
      side('client', () => atelier.runs.get(started.runId)),
    ]);
    const [ofFetch, ofClient] = measured.series;
    const more = ofClient!.values.map((value, round) => value - ofFetch!.values[round]!);
    return [
      {
        rows: measured.series.map(({ name, values }) => ({ name: `runs.get, ${name}`, unit: 'ms', values })),
        verdicts: [{ name: 'ms more for a request', values: more, aim: { atMost: 0.3 } }],
        otherCores: measured.otherCores,
      },
    ];
  },
};
