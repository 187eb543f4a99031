import { beforeAll, expect, test } from '@jest/globals';
import { sharedProduct } from '../product.ts';
import { sceneOf } from './scene.ts';

/** As it is published. */
const lastDay = 'longestEnd';

let scene: ReturnType<typeof sceneOf>;
beforeAll(async () => {
  scene = sceneOf((await sharedProduct()).api);
});

test('days with more than 10,000 times are refused, with the last day that can be asked for', async () => {
  const { id } = await scene.offer({ duration: 1 }, { timezone: 'Europe/Berlin' });
  const ask = (end: string) => {
    const query = new URLSearchParams({ eventTypeId: id, start: '2040-01-01', end, timezone: 'America/New_York' });
    return scene.request('GET', `availability?${query}`);
  };
  const refused = await ask('2040-04-01');
  expect(refused.status).toBe(400);
  expect(refused.body.error).toMatchObject({
    code: 'validation_error',
    details: { errors: [{ path: 'end' }], [lastDay]: '2040-01-06', slots: 10_000 },
  });
  const whole = await ask('2040-01-06');
  expect(whole.status).toBe(200);
  expect(whole.body.data.slots).toHaveLength(6 * 1440);
  expect((await ask('2040-01-07')).body.error.details).toEqual(refused.body.error.details);
});
