import { expect, test } from '@jest/globals';
import { requireRecent } from './idempotency.ts';

test('an answer with a secret is given again for ten minutes', () => {
  const made = (minutesAgo: number, replayed: boolean) => () =>
    requireRecent({ outcome: { createdAt: new Date(Date.now() - minutesAgo * 60_000) }, replayed });
  expect(made(9, true)).not.toThrow();
  expect(made(11, true)).toThrow(expect.objectContaining({ kind: 'conflict' }));
  expect(made(11, false)).not.toThrow();
});
