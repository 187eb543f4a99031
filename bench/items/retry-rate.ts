import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startChildProgram } from '../child-program.ts';
import { interleave, type Round } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import type { ReceiverOrder } from '../programs/webhook-receiver.ts';
import { announceMany, subscribe } from '../webhook-subscriptions.ts';

const first = 'first attempts, all of which succeed';
const again = 'retries, every second of which fails';
const subscriptionCount = 8;
const count = 2_000;
/** All first attempts have been made and recorded by then. */
const retryAfter = 20;
/** From when it is set until they are due. */
const dueInMs = 1_000;
const rounds = 3;

const lookEveryMs = 10;

/** P23: retries per second, from when they are due at the same moment until the last one is recorded. */
export const retryRate: Item = {
  name: 'P23',
  title: 'webhook retries of a receiver that fails every second attempt, from due to recorded, / first attempts',
  needs: 'stand',
  async run(stand, cleanup) {
    const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: 2 });
    const receiver = await startChildProgram({
      program: 'webhook-receiver.ts',
      args: [],
      logFile: stand.file('flapping-receiver.log'),
    });
    const close = async () => {
      if (!pool.ending) await Promise.all([pool.end(), receiver.stop()]);
    };
    cleanup.add(close);
    stand.meter.watch('receiver', receiver.pid);
    const order = (given: ReceiverOrder) => receiver.ask(given);
    const subscriptions: string[] = [];
    for (let n = 0; n < subscriptionCount; n++) {
      subscriptions.push(await subscribe(stand.client, `${receiver.ready.url}/flap/${n}`));
    }
    const of = 'subscription_id = any($1::uuid[])';
    const none = async (condition: string) => {
      const left = `select from delivery where ${of} and ${condition} limit 1`;
      while ((await pool.query(left, [subscriptions])).rowCount) await sleep(lookEveryMs);
    };
    const untilTried = () => none("status = 'pending' and attempts = 0");
    const untilOver = () => none("status in ('pending', 'retrying') and attempts > 0");

    const firstAttempts = async (): Promise<Round> => {
      await order({ mended: true });
      const began = performance.now();
      await announceMany(pool, subscriptions, count);
      await untilTried();
      return { value: (count * 1_000) / (performance.now() - began), operations: count };
    };
    const retries = async (): Promise<Round> => {
      await order({ mended: false, retryAfter });
      // Half of them fail.
      await announceMany(pool, subscriptions, 2 * count);
      await untilTried();
      const due = `update delivery set next_attempt_at = now() + make_interval(secs => $2::float8 / 1000)
                    where ${of} and status = 'retrying' and attempts = 1`;
      const { rowCount } = await pool.query(due, [subscriptions, dueInMs]);
      const began = performance.now() + dueInMs;
      await sleep(dueInMs);
      await none("status = 'retrying' and attempts = 1");
      const value = (rowCount! * 1_000) / (performance.now() - began);
      await order({ mended: true });
      await pool.query(`update delivery set next_attempt_at = now() where ${of} and status = 'retrying'`, [
        subscriptions,
      ]);
      await untilOver();
      return { value, operations: 2 * count + rowCount! + rowCount! / 2 };
    };
    const measured = await interleave(stand.meter, rounds, [
      { name: first, warmUp: firstAttempts, round: firstAttempts },
      { name: again, warmUp: retries, round: retries },
    ]);
    await close();
    stand.meter.unwatch('receiver');
    return [compare('attempts/s', 'due to recorded', measured, { [first]: { atLeast: 0.5 } })];
  },
};
