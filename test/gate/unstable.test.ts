import { expect, test } from '@jest/globals';
import { faultsOf, type UnstableFile } from './unstable.ts';

const seen: UnstableFile = {
  file: 'test/a.test.ts',
  seen: ['2026-11-29'],
  failure: 'Expected 1, received 2',
  expires: '2026-12-13',
};

test.each<[string, Partial<UnstableFile>, string, string[]]>([
  ['stands for fourteen days', {}, '2026-12-13', []],
  ['expires', {}, '2026-12-14', ['test/a.test.ts expired on 2026-12-13: mend it, or move it to the deep tier.']],
  [
    'does not stand longer',
    { expires: '2026-12-14' },
    '2026-11-30',
    ['test/a.test.ts expires later than 14 days after it was seen.'],
  ],
  [
    'needs a cause when it was seen twice',
    { seen: ['2026-11-20', '2026-11-29'] },
    '2026-11-30',
    ['test/a.test.ts needs a cause.'],
  ],
  [
    'needs a cause in the deep tier',
    { file: 'test/deep/a.test.ts' },
    '2026-11-30',
    ['test/deep/a.test.ts needs a cause.'],
  ],
  ['is at peace with a cause', { file: 'test/deep/a.test.ts', cause: 'A lock of 5 s.' }, '2026-11-30', []],
])('an unstable file %s', (_, changes, today, faults) => {
  expect(faultsOf([{ ...seen, ...changes }], today, (file) => file.startsWith('test/deep/'))).toEqual(faults);
});
