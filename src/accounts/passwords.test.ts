import { expect, test } from '@jest/globals';
import { hashPassword, verifyPassword } from './passwords.ts';

test('a hash is that of its password alone, and another one each time', async () => {
  const [one, other] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')]);
  expect(one).not.toBe(other);
  expect(await verifyPassword(one, 'correct horse')).toBe(true);
  expect(await verifyPassword(one, 'correct house')).toBe(false);
  expect(await verifyPassword('s0:a:b', 'correct horse')).toBe(false);
});

test('passwords that would wait for too many others are refused, and those that wait are checked', async () => {
  const stored = await hashPassword('correct horse');
  const checks = Array.from({ length: 22 }, () => verifyPassword(stored, 'correct horse'));
  await expect(verifyPassword(stored, 'correct horse')).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(new Set(await Promise.all(checks))).toEqual(new Set([true]));
  expect(await verifyPassword(stored, 'correct horse')).toBe(true);
});
