import { expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { SignInLimits } from '../../src/accounts/sign-in-limits.ts';
import { MemoryWindowCounter } from '../../src/tenancy/windows/window-counter.ts';

const tried = { email: 'ada@example.com', address: '203.0.113.1' };
const userId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
type Check = () => Promise<{ ok: boolean }>;

test.each<[string, (limits: SignInLimits, check: Check) => Promise<{ ok: boolean }>]>([
  ['password', (limits, check) => limits.checkPassword(tried, check)],
  ['code', (limits, check) => limits.checkCode(userId, check)],
])('a %s that could not be checked does not count as a failed one', async (_, ask) => {
  const limits = new SignInLimits(new MemoryWindowCounter(), accountTimes());
  const unavailable = new Error('The database is away.');
  for (let tries = 0; tries < 20; tries++) {
    await expect(ask(limits, () => Promise.reject(unavailable))).rejects.toBe(unavailable);
  }
  const wrong = { ok: false };
  for (let tries = 0; tries < 10; tries++) expect(await ask(limits, async () => wrong)).toBe(wrong);
  await expect(ask(limits, async () => ({ ok: true }))).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
});
