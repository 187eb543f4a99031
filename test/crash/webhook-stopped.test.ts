import { expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { findDeliveryViolations } from './delivery-oracle.ts';
import { answers, withDeliveries } from './delivery-scene.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

/** What is under way has 10 s to end; the rest is for a busy machine. */
const stopLimitMs = 20_000;

test('stopped with attempts under way: they end or are given back, and a receiver that hangs keeps nobody', () =>
  withDeliveries(
    async (scene) => {
      const { product, receiver } = scene;
      const [{ api }, first] = await Promise.all([product.start(['api', 'runs']), product.start(['webhooks'])]);
      const slow = { status: 200, afterMs: 4_000 };
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
      expect(await first.stop()).toBe(0);
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
        20_000,
      );
      expect(await findDeliveryViolations({ ...scene, cutOff: 2 })).toEqual([]);
      expect((await scene.rows()).map(({ attempts }) => attempts)).toEqual([2, 2, 1, 1]);
      expect(paths.map((path) => receiver.to(path).length)).toEqual([2, 3, 1, 2]);
    },
    // Attempts as long as in production.
    { env: { DELIVERY_TIME_SCALE: '1' } },
  ));
