import { describe, expect, test } from '@jest/globals';
import { UploadSlots, uploadSlots } from './upload-slots.ts';

const full = (limit: number) => ({ code: 'rate_limit_exceeded', facts: expect.objectContaining({ limit }) });
const enterAll = (places: UploadSlots, organization: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => places.enter(organization)));

describe('places for recordings that arrive', () => {
  test('are 32 for an organization, which takes none of another one', async () => {
    const places = new UploadSlots();
    const taken = await enterAll(places, 'greedy', uploadSlots.organization);
    await expect(places.enter('greedy')).rejects.toMatchObject(full(32));
    await places.enter('other');
    taken[0]!();
    await places.enter('greedy');
    await expect(places.enter('greedy')).rejects.toMatchObject(full(32));
  });

  test('are 128 for a process, and a refused caller keeps none', async () => {
    const places = new UploadSlots();
    const taken = await Promise.all([1, 2, 3].map((n) => enterAll(places, `organization ${n}`, 32)));
    await enterAll(places, 'organization 4', 25);
    await enterAll(places, 'organization 5', 7);
    for (let times = 0; times < 100; times++) {
      await expect(places.enter('late')).rejects.toMatchObject(full(128));
    }
    for (const leave of taken[0]!) leave();
    await enterAll(places, 'late', 21);
    await expect(places.enter('late')).rejects.toMatchObject(full(21));
  });

  test('are shared by those who want many, with room for one more', async () => {
    const places = new UploadSlots();
    const greedy = Array.from({ length: 13 }, (_, n) => `organization ${n}`);
    for (let round = 0; round < 10; round++) {
      for (const organization of greedy) await places.enter(organization).catch(() => {});
    }
    await enterAll(places, 'late', 8);
    for (const organization of greedy) await expect(places.enter(organization)).rejects.toMatchObject(full(8));
  });

  test('are given free once, however often their holder leaves', async () => {
    const places = new UploadSlots();
    const [first] = await enterAll(places, 'greedy', uploadSlots.organization);
    for (let times = 0; times < 5; times++) first!();
    await places.enter('greedy');
    await expect(places.enter('greedy')).rejects.toMatchObject(full(32));
  });
});
