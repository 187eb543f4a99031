import { describe, expect, test } from '@jest/globals';
import { type ItemValues, renderTemplate } from './template.ts';

const render = (
  template: string,
  values: { input?: unknown; variables?: object; steps?: object; scope?: ItemValues } = {},
) =>
  renderTemplate(template, {
    input: values.input,
    variables: (values.variables ?? {}) as Record<string, unknown>,
    steps: (values.steps ?? {}) as Record<string, unknown>,
    scope: values.scope,
  });

describe('renderTemplate', () => {
  test.each([
    ['Hi {{input}}!', { input: 'Ada' }, 'Hi Ada!'],
    ['{{ name }}', { variables: { name: 'Ada' } }, 'Ada'],
    ['{{user name}}', { variables: { 'user name': 'Ada' } }, 'Ada'],
    ['{{input}}', { input: { a: [1, null] } }, '{"a":[1,null]}'],
    ['{{n}} {{t}}', { variables: { n: 0, t: false } }, '0 false'],
    ['{{steps.first.output}}', { steps: { first: 'done' } }, 'done'],
    ['{{steps.my-step.output}}', { steps: { 'my-step': { ok: true } } }, '{"ok":true}'],
    ['no placeholder', {}, 'no placeholder'],
    ['{{ open', {}, '{{ open'],
    ['close }} {{input}}', { input: 1 }, 'close }} 1'],
    ['{{ {{input}} }}', { input: 'x' }, '{{ x }}'],
    ['{single} {{input}}', { input: 'x' }, '{single} x'],
  ])('fills %j', (template, values, text) => {
    expect(render(template, values)).toEqual({ text, warnings: [] });
  });

  const scope = { item: { email: 'a@b.c', tags: ['x', null] }, index: 0, total: 3 };
  test.each([
    ['{{item.email}} {{index}}/{{total}}', { scope }, 'a@b.c 0/3'],
    ['{{item.tags.0}}{{item.tags.1}}', { scope }, 'x'],
    ['{{item}}', { scope, variables: { item: 'mine' } }, JSON.stringify(scope.item)],
    ['{{item.email}}', { scope, variables: { 'item.email': 'mine' } }, 'a@b.c'],
    ['{{item}} {{index.x}}', { variables: { item: 'mine', 'index.x': 'too' } }, 'mine too'],
    ['{{steps.fetch.output.body.items.0.id}}', { steps: { fetch: { body: { items: [{ id: 7 }] } } } }, '7'],
    ['{{name.first}}', { variables: { name: { first: 'Ada' } } }, 'Ada'],
    ['{{name.first}}', { variables: { name: { first: 'Ada' }, 'name.first': 'Grace' } }, 'Grace'],
    ['{{input.a.b}}', { input: { a: { b: [1] } } }, '[1]'],
    ['[{{input.a}}]', { input: { a: null } }, '[]'],
  ])('follows %j', (template, values, text) => {
    expect(render(template, values)).toEqual({ text, warnings: [] });
  });

  test.each([
    'input.a.b',
    'input.list.2',
    'input.list.01',
    'input.list.length',
    'input.text.0',
    'input.nothing.x',
    'input.',
    'input..list',
    'item.email',
    'input.constructor',
    'steps.s.output.x',
    'steps.s.outputs',
  ])('warns where {{%s}} leads nowhere', (name) => {
    const input = { list: [1, 2], text: 'abc', nothing: null };
    const warnings = [{ code: 'unknown_variable', name }];
    expect(render(`[{{${name}}}]`, { input, steps: { s: [1] } })).toEqual({ text: '[]', warnings });
  });

  test('does not render inserted values again', () => {
    const variables = { v: '{{input}} $& $1 {{v}}' };
    expect(render('{{v}}|{{input}}', { input: '{{v}}', variables }).text).toBe('{{input}} $& $1 {{v}}|{{v}}');
  });

  test('an unknown name becomes empty and adds one warning', () => {
    expect(render('[{{nope}}{{nope}}{{steps.x.output}}]')).toEqual({
      text: '[]',
      warnings: [
        { code: 'unknown_variable', name: 'nope' },
        { code: 'unknown_variable', name: 'steps.x.output' },
      ],
    });
  });

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'steps.constructor.output'])(
    'does not reach what a record inherits: %s',
    (name) => {
      expect(render(`[{{${name}}}]`)).toEqual({ text: '[]', warnings: [{ code: 'unknown_variable', name }] });
    },
  );

  test('takes time linear in a hostile template', () => {
    // A quadratic scan of these would take minutes; the test's own time limit is what fails it.
    for (const hostile of [
      '{{'.repeat(500_000),
      '}}'.repeat(500_000),
      `{{${' '.repeat(1_000_000)}`,
      '{{}}'.repeat(250_000),
    ]) {
      expect(render(hostile).text.length).toBeLessThanOrEqual(hostile.length);
    }
  });
});
