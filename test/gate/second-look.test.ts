import { describe, expect, test } from '@jest/globals';
import { type FileResult, judge, readResults, refuseSecondLook } from './second-look.ts';

const file = (path: string, ran: string[], failed: string[] = []): FileResult => ({
  path,
  passed: failed.length === 0,
  ran,
  failed,
  message: failed.length === 0 ? '' : `● ${failed[0]}`,
});

const good = file('good', ['one', 'two']);
const bad = file('bad', ['three', 'four'], ['four']);
const better = file('bad', ['three', 'four']);
const green = { reasons: [], failed: 0 };

describe('a run', () => {
  test.each([
    ['passes if every file did', [good], [], { ...green, passed: 2, unstable: 0 }],
    [
      'is green if a file passed three of three',
      [good, bad],
      [better, better, better],
      { ...green, passed: 3, unstable: 1 },
    ],
    [
      'is red if a file passed two of three',
      [good, bad],
      [better, better, bad],
      { reasons: ['bad failed.'], failed: 1 },
    ],
    ['is red if a file ran twice only', [good, bad], [better, better], { reasons: ['bad failed.'], failed: 1 }],
    ['is red if Jest reported nothing of a rerun', [bad], [better, undefined, better], { failed: 1, unstable: 0 }],
    [
      'is red if a rerun left a test out',
      [good, bad],
      [better, file('bad', ['three']), better],
      { reasons: ['bad failed.'], failed: 1, unstable: 0 },
    ],
    ['is red if no test ran', [], [], { reasons: ['No test ran.'] }],
  ])('%s', (_, results, reruns, verdict) => {
    expect(judge(results, new Map([['bad', reruns]]))).toMatchObject(verdict);
  });

  test('is red with more than five unstable files', () => {
    const judged = (count: number) => {
      const results = Array.from({ length: count }, (_, index) => file(`${index}`, ['a'], ['a']));
      const reruns = new Map(results.map(({ path }) => [path, Array(3).fill(file(path, ['a']))]));
      return judge(results, reruns);
    };
    expect(judged(5)).toMatchObject({ reasons: [], unstable: 5, failed: 0 });
    expect(judged(6).reasons).toEqual(['6 files are unstable, more than 5.']);
  });

  test('counts a file that does not load as a failure', () => {
    const broken: FileResult = { ...file('bad', []), passed: false };
    expect(judge([good, broken], new Map([['bad', [broken]]]))).toMatchObject({ failed: 1, passed: 2 });
    expect(judge([good, broken], new Map([['bad', [file('bad', []), better, better]]]))).toMatchObject({ failed: 1 });
    expect(judge([good, broken], new Map([['bad', [better, better, better]]]))).toMatchObject({
      failed: 0,
      unstable: 1,
    });
  });
});

test('failed files are not run again where a worker died, or where more than ten failed', () => {
  const failures = (count: number) => Array.from({ length: count }, (_, index) => file(`${index}`, ['a'], ['a']));
  expect(refuseSecondLook([good, ...failures(10)])).toBeUndefined();
  expect(refuseSecondLook([good, ...failures(11)])).toBe('11 files failed, more than 10.');
  for (const died of [
    'A jest worker process (pid=7) was terminated by another process: signal=SIGKILL',
    'Jest worker ran out of memory and crashed',
    'Jest worker encountered 4 child process exceptions, exceeding retry limit',
  ]) {
    expect(refuseSecondLook([{ ...bad, message: died }])).toBe('A worker died.');
  }
});

test('results of Jest are read by file, without the tests that did not run', () => {
  const assertionResults = [
    { fullName: 'a passes', status: 'passed' },
    { fullName: 'b fails', status: 'failed' },
    { fullName: 'c was not selected', status: 'pending' },
  ];
  const result = { name: '/root/test/a.test.ts', status: 'failed', message: 'why', startTime: 0, endTime: 1 };
  expect(readResults({ testResults: [{ ...result, assertionResults }] }, '/root')).toEqual([
    { path: 'test/a.test.ts', passed: false, ran: ['a passes', 'b fails'], failed: ['b fails'], message: 'why' },
  ]);
});
