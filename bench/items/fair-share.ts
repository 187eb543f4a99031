import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { openProductDatabase } from '../../src/services.ts';
import type { Finding, Item } from '../item.ts';
import { timeAlone } from '../load.ts';
import { openNeighbour } from '../neighbour.ts';
import type { ProductClient } from '../product-client.ts';
import { untilSettled } from '../settled.ts';
import type { Stand } from '../stand.ts';
import { createWorkflowOfSteps } from './workflow-of-steps.ts';

const queuedRuns = 2_000;
/** So long that the queue lasts while the other organization is measured, however quickly the runs were started. */
const slowPrompt = 'sandbox:slow=60 {{input}}';
const rounds = 5;
const runsInRound = 50;

/** P9: what an organization feels of another one that has queued more than the product can do at once. */
export const fairShare: Item = {
  name: 'P9',
  title: `POST execute, synchronous, one step, p50 alone, while another organization has ${queuedRuns} runs queued`,
  needs: 'stand',
  async run(stand, cleanup) {
    const id = await createWorkflowOfSteps(stand, 1);
    const execute = () => stand.client.post(`/api/v1/workflows/${id}/execute`, { input: 'x' });
    const measure = async () => {
      const values: number[] = [];
      for (let round = 0; round < rounds; round++) {
        values.push((await timeAlone(execute, { count: runsInRound })).value);
      }
      return values;
    };
    await timeAlone(execute, { count: 100 });
    const quiet = await measure();
    const noisy = await openNeighbour(stand);
    cleanup.add(() => noisy.close());
    const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: 1 });
    cleanup.add(() => (pool.ending ? undefined : pool.end()));
    const noisyId = await queueRuns(noisy);
    const flooded = await measure();
    await untilQueued(stand, pool);
    const before = await openRuns(stand);
    const crowded = await measure();
    const after = await openRuns(stand);
    if (after < queuedRuns / 4)
      throw new Error(`The queue was processed too early: ${before} open runs, then ${after}.`);
    // So that the next item does not feel them.
    await noisy.send('DELETE', `/api/v1/workflows/${noisyId}`);
    await untilSettled(pool);
    const finding: Finding = {
      rows: [
        { name: 'p50, quiet', unit: 'ms', values: quiet },
        { name: 'p50, while Temporal still takes them in', unit: 'ms', values: flooded },
        { name: `p50, beside ${before} to ${after} open runs`, unit: 'ms', values: crowded },
      ],
      verdicts: [
        { name: 'p50: flooded / quiet', values: flooded.map((ms, round) => ms / quiet[round]!), aim: { atMost: 2 } },
        { name: 'p50: crowded / quiet', values: crowded.map((ms, round) => ms / quiet[round]!), aim: { atMost: 2 } },
      ],
    };
    return [finding];
  },
};

/** @returns the id of their workflow */
async function queueRuns(client: ProductClient): Promise<string> {
  const steps = [{ id: 'slow', type: 'prompt', prompt: slowPrompt }];
  const { id } = await client.post<{ id: string }>('/api/v1/workflows', { name: 'Noisy', steps });
  for (let started = 0; started < queuedRuns; started += 20) {
    const execute = () => client.post(`/api/v1/workflows/${id}/execute`, { input: 'x', async: true });
    await Promise.all(Array.from({ length: 20 }, execute));
  }
  return id;
}

/** Two thousand starts are work for both cores for a while; what stays is the queue of calls. */
async function untilQueued({ temporal }: Stand, pool: pg.Pool): Promise<void> {
  const starting = "select from outbox where kind = 'run.start' limit 1";
  while ((await pool.query(starting)).rowCount) await sleep(500);
  const connection = await Connection.connect({ address: temporal.address });
  const { workflowService, options } = new Client({ connection });
  try {
    for (;;) {
      const { stats } = await workflowService.describeTaskQueue({
        namespace: options.namespace,
        taskQueue: { name: 'runs' },
        taskQueueType: 1,
        reportStats: true,
      });
      if (Number(stats?.approximateBacklogCount ?? 0) === 0) return;
      await sleep(500);
    }
  } finally {
    await connection.close();
  }
}

async function openRuns({ databaseUrl }: Stand): Promise<number> {
  const database = await openProductDatabase(databaseUrl, 1);
  try {
    const { rows } = await database.pool.query("select count(*)::int from run where status in ('queued', 'running')");
    return rows[0].count;
  } finally {
    await database.close();
  }
}
