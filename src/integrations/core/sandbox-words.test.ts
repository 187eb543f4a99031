import { expect, test } from '@jest/globals';
import { readSandboxWords } from './sandbox-words.ts';

const asked = (text: string, attempt = 1) =>
  readSandboxWords({ channel: 'C1', blocks: [{ type: 'section', text: { text: `One\n${text}\nthree` } }] }, attempt);

test('each word, wherever in a payload it stands', () => {
  expect(asked('two')).toEqual({ slowSeconds: 0 });
  expect(asked('sandbox:fail')).toEqual({
    slowSeconds: 0,
    failure: { kind: 'action_failed', providerCode: 'sandbox_failure' },
  });
  expect(asked('sandbox:rate_limited').failure).toEqual({ kind: 'rate_limited', retryAfterSeconds: 30 });
  expect(asked('sandbox:rate_limited=4').failure).toEqual({ kind: 'rate_limited', retryAfterSeconds: 4 });
  expect(asked('sandbox:auth_expired').failure).toEqual({ kind: 'auth_expired' });
  expect(asked('sandbox:slow=1.5')).toEqual({ slowSeconds: 1.5 });
  expect(asked('sandbox:failure')).toEqual({ slowSeconds: 0 });
});

test('an overloaded sandbox does it at the third attempt', () => {
  const kinds = [1, 2, 3].map((attempt) => asked('sandbox:overloaded', attempt).failure?.kind);
  expect(kinds).toEqual(['not_done', 'not_done', undefined]);
});

test('words may be combined', () => {
  expect(asked('sandbox:slow=2 sandbox:fail')).toMatchObject({ slowSeconds: 2, failure: { kind: 'action_failed' } });
});
