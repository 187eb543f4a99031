import { describe, expect, test } from '@jest/globals';
import { newId, parseId, prefixed } from './ids.ts';

describe('ids', () => {
  test('have two forms that name the same thing', () => {
    const uuid = newId();
    expect(prefixed('workflow', uuid)).toBe(`wf_${uuid.replaceAll('-', '')}`);
    expect(parseId('workflow', prefixed('workflow', uuid))).toBe(uuid);
    expect(parseId('workflow', uuid.toUpperCase())).toBe(uuid);
  });

  test('begin with the millisecond of their making', () => {
    const before = Date.now();
    const milliseconds = Number.parseInt(newId().replaceAll('-', '').slice(0, 12), 16);
    expect(milliseconds).toBeGreaterThanOrEqual(before);
    expect(milliseconds).toBeLessThanOrEqual(Date.now());
  });

  test.each(['', 'wf_', 'run_0199', 'wf_0199', 'nonsense', '../etc', `wf_${'g'.repeat(32)}`, `run_${'0'.repeat(32)}`])(
    '%j is no id of a workflow',
    (text) => {
      expect(parseId('workflow', text)).toBeUndefined();
    },
  );
});
