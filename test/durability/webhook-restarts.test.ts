import { expect, jest, test } from '@jest/globals';
import { findDeliveryViolations } from '../crash/delivery-oracle.ts';
import { answers, type DeliveryScene, withDeliveries } from '../crash/delivery-scene.ts';
import { ownPostgres, ownTemporal } from '../crash/own-servers.ts';
import { until } from '../until.ts';
import type { Reply } from '../webhooks/receiver.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

/** Far less than it takes to give Temporal up; the rest is for a busy machine. */
const answerLimitMs = 10_000;

const events = { events: ['workflow.run.failed'] };
const busyFor = (seconds: number): Reply => ({ status: 503, headers: { 'retry-after': String(seconds) } });

/** Delivers to a receiver that fails in this way and then takes it. @returns the delivery's id and its requests */
async function deliver(scene: DeliveryScene, api: string, ...replies: (number | Reply)[]) {
  const { id, path } = await scene.subscribe(api, answers(...replies), events);
  return { id: await scene.sendTest(api, id), arrived: () => scene.receiver.to(path) };
}

test.concurrent('Temporal killed between retries: the schedule is kept, and what is due soon arrives meanwhile', async () => {
  const temporal = await ownTemporal();
  await withDeliveries(
    async (scene) => {
      const { api } = await scene.product.start(['api', 'runs', 'webhooks']);
      const waiting = await deliver(scene, api, 500, busyFor(8), 500);
      const parked = await scene.subscribe(api, answers(500), { ...events, maxAttempts: 1 });
      const letter = await scene.sendTest(api, parked.id);
      // A busy machine may have made the third attempt by now: then it waits for its fourth.
      await until('one waits for its third attempt', async () => waiting.arrived().length >= 2);
      await until('both are recorded', async () => {
        const { rows } = await scene.product.database.pool.query('select 1 from outbox');
        const [first] = await scene.rows();
        return first!.attempts >= 2 && rows.length === 0;
      });
      await scene.reaches(letter, 'dead_lettered');
      await temporal.kill();

      const quick = await deliver(scene, api);
      await scene.reaches(quick.id, 'delivered');
      // Further attempts that are due soon are made without it too.
      const failing = await deliver(scene, api, 500);
      await scene.reaches(failing.id, 'delivered');
      const asked = performance.now();
      expect(await scene.replay(api, parked.id, letter)).toBeLessThan(300);
      expect(performance.now() - asked).toBeLessThan(answerLimitMs);
      await temporal.start();

      expect(await findDeliveryViolations({ ...scene, temporalAddress: temporal.address })).toEqual([]);
      const counts = (await scene.rows()).map(({ status, attempts }) => [status, attempts]);
      expect(counts).toEqual([4, 2, 1, 2].map((attempts) => ['delivered', attempts]));
      const [, second, third] = waiting.arrived();
      expect(third!.at - second!.at).toBeGreaterThanOrEqual(8_000);
    },
    { env: { TEMPORAL_ADDRESS: temporal.address } },
  );
  await temporal.close();
});

test.concurrent('PostgreSQL killed between retries: the schedule is kept', async () => {
  const postgres = await ownPostgres();
  await withDeliveries(
    async (scene) => {
      const { api } = await scene.product.start(['api', 'runs', 'webhooks']);
      const waiting = await deliver(scene, api, busyFor(6), 500);
      await scene.reaches(waiting.id, 'retrying');
      // These are under way when it is killed, and end while it is away: a first attempt and a further one.
      const { promise: isAway, resolve: answerWhileAway } = Promise.withResolvers<void>();
      const slow = { status: 200, after: isAway };
      const further = await deliver(scene, api, 500, slow);
      await until('its second attempt is under way', async () => further.arrived().length === 2);
      const first = await deliver(scene, api, slow);
      await until('its attempt is under way', async () => first.arrived().length === 1);
      await postgres.kill();
      // What is left of it may answer for a moment.
      const ask = () => scene.caller.at(api).request('GET', '/v1/webhooks');
      await until('the API cannot answer', async () => (await ask()).status === 503);
      answerWhileAway();
      await until('the time of a retry is over', async () => Date.now() - waiting.arrived()[0]!.at > 7_000);
      await postgres.start();

      expect(await findDeliveryViolations({ ...scene, cutOff: 3 })).toEqual([]);
      expect((await scene.rows()).map(({ attempts }) => attempts)).toEqual([3, 2, 1]);
      const [one, two] = waiting.arrived();
      expect(two!.at - one!.at).toBeGreaterThanOrEqual(6_000);
    },
    { testDatabase: postgres.testDatabase },
  );
  await postgres.close();
});

/** What is under way has 10 s to end; the rest, less than an attempt has, is for a busy machine. */
const stopLimitMs = 25_000;

test.concurrent('stopped with attempts under way: they end or are given back, and a receiver that hangs delays no process', () =>
  withDeliveries(
    async (scene) => {
      const { product, receiver } = scene;
      const [{ api }, first] = await Promise.all([product.start(['api', 'runs']), product.start(['webhooks'])]);
      const { promise: isDraining, resolve: answerWhileDraining } = Promise.withResolvers<void>();
      const slow = { status: 200, after: isDraining };
      // Each of a first attempt, which the process makes by itself, and of a further one, which Temporal asks for.
      const ending = [answers(slow), answers(500, slow)];
      const hanging = [answers('hang'), answers(500, 'hang')];
      const paths: string[] = [];
      const send = async (script: (typeof ending)[number]) => {
        const { id, path } = await scene.subscribe(api, script, { events: ['workflow.run.failed'] });
        paths.push(path);
        return scene.sendTest(api, id);
      };
      const later = [await send(ending[1]!), await send(hanging[1]!)];
      for (const path of paths) await receiver.has(path, 2);
      const deliveries = [await send(ending[0]!), await send(hanging[0]!), ...later];
      for (const path of paths.slice(2)) await receiver.has(path, 1);

      const begun = performance.now();
      const stopped = first.stop();
      await until('the process drains', async () => first.log.some(({ msg }) => msg === 'draining'));
      answerWhileDraining();
      expect(await stopped).toBe(0);
      expect(performance.now() - begun).toBeLessThan(stopLimitMs);
      const rows = await scene.rows();
      const of = (delivery: string) => rows.find(({ id }) => id === delivery)!;
      const [ended, cut, endedLater, cutLater] = deliveries.map(of);
      expect([ended, endedLater]).toMatchObject([{ status: 'delivered' }, { status: 'delivered' }]);
      expect([cut, cutLater]).toMatchObject([
        { status: 'pending', attempts: 0 },
        { status: 'retrying', attempts: 1 },
      ]);

      await product.start(['webhooks']);
      // Long before their leases would have ended.
      await until(
        'they arrive',
        async () => (await scene.rows()).every(({ status }) => status === 'delivered'),
        25_000,
      );
      expect(await findDeliveryViolations({ ...scene, cutOff: 2 })).toEqual([]);
      expect((await scene.rows()).map(({ attempts }) => attempts)).toEqual([2, 2, 1, 1]);
      expect(paths.map((path) => receiver.to(path).length)).toEqual([2, 3, 1, 2]);
    },
    // Attempts as long as in production.
    { env: { DELIVERY_TIME_SCALE: '1' } },
  ));
