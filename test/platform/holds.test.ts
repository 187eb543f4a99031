import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Notifications } from '../../src/platform/database/notifications.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { holdsChannel } from '../../src/platform/parts/holds.ts';
import { newHold } from '../hold.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';

let product: StartedProduct;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

test('a process that connects after the release of a hold learns of it', async () => {
  const hold = newHold(product.database);
  await hold.release();
  const released: string[] = [];
  const notifications = new Notifications(product.databaseUrl, openLog('silent', 'test'));
  await notifications.on(holdsChannel, (name) => released.push(`sandbox:hold=${name}`));
  await notifications.start();
  await until('the hold is released', async () => released.includes(hold.word), 15_000);
  await notifications.stop();
  expect(released).toContain(hold.word);
});
