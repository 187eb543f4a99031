import { describe, expect, test } from '@jest/globals';
import { defineId } from './core/ids.ts';
import { newId } from './ids.ts';

const workflowIds = defineId('wf');

describe('ids', () => {
  test('have two forms that stand for the same UUID', () => {
    const uuid = newId();
    expect(workflowIds.format(uuid)).toBe(`wf_${uuid.replaceAll('-', '')}`);
    expect(workflowIds.parse(workflowIds.format(uuid))).toBe(uuid);
    const { length } = 'wf_';
    const prefixed = workflowIds.format(uuid);
    const inUpperCase = [uuid, prefixed, `wf_${prefixed.slice(length).toUpperCase()}`, `WF_${prefixed.slice(length)}`];
    for (const text of inUpperCase) expect(workflowIds.parse(text.toUpperCase())).toBe(uuid);
    for (const text of inUpperCase) expect(workflowIds.parse(text)).toBe(uuid);
    expect(workflowIds.matchesPrefix(`WF_${uuid}`)).toBe(true);
  });

  test('start with the millisecond in which they were made', () => {
    const before = Date.now();
    const milliseconds = Number.parseInt(newId().replaceAll('-', '').slice(0, 12), 16);
    expect(milliseconds).toBeGreaterThanOrEqual(before);
    expect(milliseconds).toBeLessThanOrEqual(Date.now());
  });

  test.each([
    '',
    'wf_',
    'run_0199',
    'wf_0199',
    'nonsense',
    '../etc',
    `wf_${'g'.repeat(32)}`,
    `wf_${'0'.repeat(33)}`,
    `run_${'0'.repeat(32)}`,
  ])('%j is no id of a workflow', (text) => {
    expect(workflowIds.parse(text)).toBeUndefined();
  });
});
