import { describe, expect, test } from '@jest/globals';
import { databaseFailure } from './database-errors.ts';

const withCode = (code: string) => Object.assign(new Error('secret detail'), { code });

describe('databaseFailure', () => {
  test.each([
    ['22P05', 'validation_error'],
    ['22003', 'validation_error'],
    ['54001', 'validation_error'],
    ['23505', 'conflict'],
    ['23P01', 'conflict'],
    ['26000', 'service_unavailable'],
    ['40001', 'service_unavailable'],
    ['40P01', 'service_unavailable'],
    ['53300', 'service_unavailable'],
    ['55P03', 'service_unavailable'],
    ['57P01', 'service_unavailable'],
    ['57014', 'service_unavailable'],
    ['08006', 'service_unavailable'],
    ['ECONNREFUSED', 'service_unavailable'],
  ])('%s is %s', (code, expected) => {
    const failure = databaseFailure(new Error('outer', { cause: withCode(code) }));
    expect(failure?.code).toBe(expected);
    expect(failure?.message).not.toContain('secret');
  });

  test('what may pass says when to try again', () => {
    expect(databaseFailure(withCode('57P03'))?.retryAfter).toBe(1);
    for (const message of ['timeout exceeded when trying to connect', 'Query read timeout'])
      expect(databaseFailure(new Error(message))?.retryAfter).toBe(1);
  });

  test.each(['42601', '42P01', 'ERR_ASSERTION', '23502'])('%s is our own fault', (code) => {
    expect(databaseFailure(withCode(code))).toBeUndefined();
  });
});
