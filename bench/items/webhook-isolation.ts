import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openArrivals } from '../arrivals.ts';
import { startChildProgram } from '../child-program.ts';
import type { Finding, Item } from '../item.ts';
import { openNeighbour } from '../neighbour.ts';
import { percentile } from '../statistics.ts';
import { announceMany, subscribe } from '../webhook-subscriptions.ts';

const eventsToNowhere = 10_000;
const rounds = 5;
const eventsInRound = 60;
/** So that one event's work is over before the next. */
const restMs = 25;

/**
 * P11: the effect on a tenant's deliveries of another tenant, whose receiver accepts everything and answers nothing.
 */
export const webhookIsolation: Item = {
  name: 'P11',
  title: `time from an event to its receiver, while another tenant has ${eventsToNowhere} events for one that hangs`,
  needs: 'stand',
  async run(stand, cleanup) {
    const pool = new pg.Pool({ connectionString: stand.databaseUrl, max: 2 });
    cleanup.add(() => (pool.ending ? undefined : pool.end()));
    const receiver = await openArrivals();
    cleanup.add(() => receiver.close());
    const healthy = await subscribe(stand.client, receiver.url);
    const latency = async () => {
      const arrival = receiver.next();
      const began = performance.now();
      await announceMany(pool, [healthy], 1);
      await arrival;
      const ms = performance.now() - began;
      await sleep(restMs);
      return ms;
    };
    const measure = async () => {
      const found: { p50: number; p95: number }[] = [];
      for (let round = 0; round < rounds; round++) {
        const times: number[] = [];
        for (let event = 0; event < eventsInRound; event++) times.push(await latency());
        found.push({ p50: percentile(times, 0.5), p95: percentile(times, 0.95) });
      }
      return found;
    };
    await measure();
    const quiet = await measure();

    const blackHole = await startChildProgram({
      program: 'webhook-receiver.ts',
      args: [],
      logFile: stand.file('black-hole.log'),
    });
    cleanup.add(() => blackHole.stop());
    const neighbour = await openNeighbour(stand);
    cleanup.add(() => neighbour.close());
    const nowhere = await subscribe(neighbour, `${blackHole.ready.url}/hang`);
    await announceMany(pool, [nowhere], eventsToNowhere);
    const beside = await measure();
    const p = (of: 'p50' | 'p95', name: string, values: typeof quiet) => ({
      name: `${of}, ${name}`,
      unit: 'ms',
      values: values.map((one) => one[of]),
    });
    const finding: Finding = {
      rows: [
        p('p50', 'quiet', quiet),
        p('p95', 'quiet', quiet),
        p('p50', 'beside', beside),
        p('p95', 'beside', beside),
      ],
      verdicts: [
        { name: 'p95: beside / quiet', values: beside.map(({ p95 }, n) => p95 / quiet[n]!.p95), aim: { atMost: 2 } },
      ],
    };
    return [finding];
  },
};
