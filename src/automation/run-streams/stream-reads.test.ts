import { expect, test } from '@jest/globals';
import { StreamReads } from './stream-reads.ts';

test('reads of an organization begin one after the other, those of another at once', async () => {
  const reads = new StreamReads();
  const order: string[] = [];
  const first = Promise.withResolvers<string>();
  const begun = reads.run('a', () => {
    order.push('a1');
    return first.promise;
  });
  const next = reads.run('a', async () => order.push('a2'));
  await reads.run('b', async () => order.push('b1'));
  expect(order).toEqual(['a1', 'b1']);
  first.resolve('read');
  expect(await begun).toBe('read');
  await next;
  expect(order).toEqual(['a1', 'b1', 'a2']);
});

test('a read that fails is not in the way of the next', async () => {
  const reads = new StreamReads();
  const failed = reads.run('a', () => Promise.reject(new Error('lost')));
  await expect(failed).rejects.toThrow('lost');
  expect(await reads.run('a', async () => 'read')).toBe('read');
});
