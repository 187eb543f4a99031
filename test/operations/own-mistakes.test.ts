import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';

const entryPoint = fileURLToPath(new URL('./fails-on-signal.ts', import.meta.url));

let product: Product;
let running: ProductProcess;
beforeAll(async () => {
  product = await openProduct({ entryPoint });
  running = await product.start(['api', 'webhooks', 'housekeeping']);
});
afterAll(() => product.close());

test('a failure that nobody handles is logged, and everybody is still served', async () => {
  process.kill(running.pid, 'SIGHUP');
  const line = await until('it is logged', async () =>
    running.log.find(({ msg }) => msg === 'a failure was not handled'),
  );
  expect(line).toMatchObject({ level: 50, err: { message: 'nobody awaits this', stack: expect.any(String) } });
  expect(await apiClient(running.api, '').get('/api/health')).toMatchObject({ status: 200 });
});

test('a process whose worker fails drains its other roles, and ends with 1', async () => {
  process.kill(running.pid, 'SIGUSR2');
  await running.ended;
  const messages = running.log.map(({ msg }) => msg);
  expect(messages).toEqual(expect.arrayContaining(['a worker failed', 'draining', 'stopped']));
  expect(running.errors).toEqual([]);
  expect(await running.stop()).toBe(1);
});
