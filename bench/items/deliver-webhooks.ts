import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { TemporalClient } from '../../src/temporal/client.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { startDelivery } from '../../src/webhooks/delivery-starts.ts';
import { startChildProgram } from '../child-program.ts';
import { interleave, type Round, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import type { SendRound } from '../programs/bare-sender.ts';
import type { Stand } from '../stand.ts';
import { announceMany, type Beginning, subscribe } from '../webhook-subscriptions.ts';

const bareLoop = 'bare signed POSTs over kept connections';
const inBatches = 'product, first attempts leased and sent together';
const oneWorkflowEach = 'product, a workflow for each delivery';
const subscriptionCount = 8;
const atOnce = 64;
const count = 2_000;
/** A workflow each takes long enough with fewer. */
const countOfWorkflows = 100;

/** P6: deliveries per second, from the commit of their events until the last one is recorded as delivered. */
export const deliverWebhooks: Item = {
  name: 'P6',
  title: 'webhook deliveries, from commit to recorded',
  needs: 'stand',
  async run(stand, cleanup) {
    const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: 2 });
    const [receiver, sender] = await Promise.all(
      ['webhook-receiver.ts', 'bare-sender.ts'].map((program) =>
        startChildProgram({ program, args: [], logFile: stand.file(`${program}.log`) }),
      ),
    );
    const close = async () => {
      if (!pool.ending) await Promise.all([pool.end(), receiver!.stop(), sender!.stop()]);
    };
    cleanup.add(close);
    stand.meter.watch('receiver', receiver!.pid);
    stand.meter.watch('sender', sender!.pid);
    const url = String(receiver!.ready.url);
    const subscriptions: string[] = [];
    for (let n = 0; n < subscriptionCount; n++) subscriptions.push(await subscribe(stand.client, `${url}/${n}`));

    const round: SendRound = { url: `${url}/bare`, count, atOnce, body: JSON.stringify({ data: 'x'.repeat(250) }) };
    const bare = () => sender!.ask<Round>(round);
    const batches = () => deliver(pool, subscriptions, count, 'first', async () => {});
    const workflows = () =>
      deliver(pool, subscriptions, countOfWorkflows, 'failed-once', (ids) => startEach(stand, subscriptions[0]!, ids));
    const side = (name: string, run: () => Promise<Round>): Side => ({ name, warmUp: run, round: run });
    const measured = await interleave(stand.meter, 5, [
      side(bareLoop, bare),
      side(oneWorkflowEach, workflows),
      side(inBatches, batches),
    ]);
    await close();
    for (const name of ['receiver', 'sender']) stand.meter.unwatch(name);
    return [compare('deliveries/s', 'commit to recorded', measured, { [bareLoop]: { atLeast: 0.25 } })];
  },
};

async function deliver(
  pool: pg.Pool,
  subscriptions: string[],
  howMany: number,
  beginning: Beginning,
  start: (ids: string[]) => Promise<void>,
): Promise<Round> {
  const ids = await announceMany(pool, subscriptions, howMany, beginning);
  const began = performance.now();
  await start(ids);
  // Found by their own indexes, so that looking costs next to nothing.
  const isLeft = async () => {
    const { rows } = await pool.query(
      `select exists (select from delivery where status = 'pending' and attempts = 0)
           or exists (select from delivery where status in ('pending', 'retrying') and attempts > 0) as left`,
    );
    return rows[0].left;
  };
  while (await isLeft()) await sleep(10);
  return { value: (howMany * 1000) / (performance.now() - began), operations: howMany };
}

/** As the product gives a delivery that failed once its workflow, for each and at once. */
async function startEach(stand: Stand, subscriptionId: string, ids: string[]): Promise<void> {
  const connection = await Connection.connect({ address: stand.temporal.address });
  const temporal = new TemporalClient({ connection, namespace: 'default', taskQueuePrefix: '' });
  const { organizationId } = stand;
  const left = [...ids];
  const starter = async () => {
    for (let deliveryId = left.pop(); deliveryId; deliveryId = left.pop()) {
      await startDelivery(
        temporal,
        {
          ...{ organizationId, environment: 'test', correlationId: 'bench', eventType: 'workflow.run.completed' },
          ...{ deliveryId, subscriptionId, begin: { kind: 'wait', ms: 0 }, parkedMs: 1_000 },
        },
        { key: organizationIds.parse(organizationId) ?? organizationId, weight: 1 },
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, starter));
  await connection.close();
}
