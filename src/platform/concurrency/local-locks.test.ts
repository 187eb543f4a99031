import { expect, test } from '@jest/globals';
import type { Tenant } from '../tenant.ts';
import { LocalLocks, LockHeld, TransactionLocks } from './local-locks.ts';

const tenant: Tenant = { organizationId: 'org', environment: 'test' };

test('a lock goes from one transaction to the next in order, and another tenant has its own', async () => {
  const locks = new LocalLocks();
  const [one, two, three] = [1, 2, 3].map(() => new TransactionLocks(locks, tenant));
  const foreign = new TransactionLocks(locks, { ...tenant, environment: 'live' });
  one!.require(['a']);
  one!.require(['a']);
  foreign.require(['a']);
  expect(() => two!.require(['b', 'a'])).toThrow(LockHeld);
  // Nothing was taken of what was refused.
  three!.require(['b']);
  three!.release();
  const order: string[] = [];
  const waiting = [two!.wait(['a']).then(() => order.push('two')), three!.wait(['a']).then(() => order.push('three'))];
  one!.release();
  await waiting[0];
  expect(order).toEqual(['two']);
  two!.release();
  await waiting[1];
  expect(order).toEqual(['two', 'three']);
});

test('transactions that need two locks in different order do not wait in a circle', async () => {
  const locks = new LocalLocks();
  const [one, two] = [new TransactionLocks(locks, tenant), new TransactionLocks(locks, tenant)];
  one.require(['a']);
  two.require(['b']);
  expect(() => one.require(['b'])).toThrow(LockHeld);
  expect(() => two.require(['a'])).toThrow(LockHeld);
  const both = [one.wait(['b']).then(() => one.release()), two.wait(['a']).then(() => two.release())];
  await Promise.all(both);
  one.require(['a', 'b']);
});
