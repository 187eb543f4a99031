import { describe, expect, test } from '@jest/globals';
import { readSandboxTools } from './sandbox-tools.ts';

describe('calls that a text asks for', () => {
  test.each<[string, [string, object][], string]>([
    ['Hello', [], 'Hello'],
    ['sandbox:tool=memory_read_graph', [['memory_read_graph', {}]], ' '],
    ['Do sandbox:tool=a_b {"x": {"y": "}\\""}} now', [['a_b', { x: { y: '}"' } }]], 'Do   now'],
    ['sandbox:tool=a_b  {"x":1}', [['a_b', {}]], '   {"x":1}'],
    ['sandbox:tool=a_b{"x":1}', [['a_b', {}]], ' {"x":1}'],
    ['sandbox:tool=a_b {"x":', [['a_b', {}]], '  {"x":'],
    ['sandbox:tool=a_b {x}', [['a_b', {}]], '  {x}'],
    [
      'sandbox:tool=a_b, then sandbox:tool=notion_notion-fetch.',
      [
        ['a_b', {}],
        ['notion_notion-fetch', {}],
      ],
      ' , then  .',
    ],
    ['sandbox:tool=a_b {"t":"sandbox:tool=c_d sandbox:fail"}', [['a_b', { t: 'sandbox:tool=c_d sandbox:fail' }]], ' '],
    ['sandbox:tools=a_b sandbox:tool= xsandbox:tool=', [], 'sandbox:tools=a_b sandbox:tool= xsandbox:tool='],
  ])('%j', (text, calls, rest) => {
    expect(readSandboxTools(text)).toEqual({ calls: calls.map(([name, args]) => ({ name, args })), rest });
  });

  test('have no arguments that are nested deeper than anything is read', () => {
    const nested = (depth: number) => `sandbox:tool=a_b {"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    expect(JSON.stringify(readSandboxTools(nested(63)).calls[0]!.args)).toContain('[[]]');
    expect(readSandboxTools(nested(64)).calls).toEqual([{ name: 'a_b', args: {} }]);
  });

  test('are at most sixteen', () => {
    expect(readSandboxTools('sandbox:tool=a_b {"open": '.repeat(40_000)).calls).toHaveLength(16);
  });
});
