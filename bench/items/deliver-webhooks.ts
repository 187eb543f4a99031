import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startChildProgram } from '../child-program.ts';
import { interleave, type Round, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import type { SendRound } from '../programs/bare-sender.ts';
import { announceMany, subscribe } from '../webhook-subscriptions.ts';

const bareLoop = 'bare signed POSTs over kept connections';
const inBatches = 'product, first attempts leased and sent together';
const subscriptionCount = 8;
const concurrency = 64;
const count = 2_000;

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

    const round: SendRound = {
      url: `${url}/bare`,
      count,
      concurrency,
      body: JSON.stringify({ data: 'x'.repeat(250) }),
    };
    const bare = () => sender!.ask<Round>(round);
    const batches = () => deliver(pool, subscriptions, count);
    const side = (name: string, run: () => Promise<Round>): Side => ({ name, warmUp: run, round: run });
    const measured = await interleave(stand.meter, 5, [side(bareLoop, bare), side(inBatches, batches)]);
    await close();
    for (const name of ['receiver', 'sender']) stand.meter.unwatch(name);
    return [compare('deliveries/s', 'commit to recorded', measured, { [bareLoop]: { atLeast: 0.25 } })];
  },
};

async function deliver(pool: pg.Pool, subscriptions: string[], howMany: number): Promise<Round> {
  await announceMany(pool, subscriptions, howMany);
  const began = performance.now();
  // Found by their own indexes, so that the query costs next to nothing.
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
