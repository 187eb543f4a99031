import { describe, expect, test } from '@jest/globals';
import { isStillOverloaded, readSandboxWords, type SandboxWords, textOfJson } from './sandbox-words.ts';

const none: SandboxWords = {
  slowSeconds: 0,
  hold: undefined,
  overloaded: false,
  failure: undefined,
  namesModel: false,
};

describe('the words of the sandbox', () => {
  test.each<[string, Partial<SandboxWords>]>([
    ['a red bicycle', {}],
    ['notsandbox:fail, sandbox:failure, sandbox: fail', {}],
    ['please sandbox:fail.', { failure: 'fail' }],
    ['sandbox:refuse', { failure: 'refuse' }],
    ['sandbox:timeout', { failure: 'timeout' }],
    ['sandbox:fail@flux-dev', { failure: 'fail_model', namesModel: true }],
    ['It is sandbox:fail@flux-dev.', { failure: 'fail_model', namesModel: true }],
    ['sandbox:fail@flux-pro-1.1', { namesModel: true }],
    ['sandbox:overloaded sandbox:slow=2.5', { overloaded: true, slowSeconds: 2.5 }],
    ['sandbox:slow=-1 sandbox:slow=x', {}],
    ['sandbox:hold=281474976710655 A boat', { hold: '281474976710655' }],
    ['sandbox:fail@ sandbox:slow=12345', { namesModel: true, slowSeconds: 1234 }],
    ['sandbox:overloaded sandbox:refuse', { overloaded: true, failure: 'refuse' }],
  ])('%s', (text, found) => {
    expect(readSandboxWords(text, 'flux-dev')).toEqual({ ...none, ...found });
  });

  test('words that any string of a JSON value contains, at the beginning of a line too', () => {
    const value = {
      one: ['two\nsandbox:refuse', { three: '\u0007sandbox:overloaded' }],
      four: 'not\\\\nsandbox:slow=2',
    };
    const found = { overloaded: true, failure: 'refuse' as const, slowSeconds: 2 };
    expect(readSandboxWords(textOfJson(value), '')).toEqual({ ...none, ...found });
  });

  test('at most the first thousand of them', () => {
    const text = `${'sandbox:overloaded '.repeat(999)}sandbox:refuse sandbox:fail`;
    expect(readSandboxWords(text, '')).toEqual({ ...none, overloaded: true, failure: 'refuse' });
  });

  test('an overloaded sandbox succeeds at the third attempt', () => {
    const words = readSandboxWords('sandbox:overloaded', 'any');
    expect([1, 2, 3, 4].map((attempt) => isStillOverloaded(words, attempt))).toEqual([true, true, false, false]);
    expect(isStillOverloaded(none, 1)).toBe(false);
  });
});
