import { expect, test } from '@jest/globals';
import { isTemplated, renderPayload, templatesIn } from './payload.ts';
import { TemplateTooLong } from './template.ts';

const payload = JSON.parse(
  '{"channel": "{{where}}", "blocks": [{"text": "Hi {{input}}", "n": 1}], "__proto__": "{{x}}"}',
);
const values = { input: '{{where}}', variables: { where: 'C1' }, steps: {} };

test('strings of a payload are templates, at any depth, and their values are not filled in again', () => {
  const { payload: rendered, warnings } = renderPayload(payload, values);
  expect(JSON.stringify(rendered)).toBe('{"channel":"C1","blocks":[{"text":"Hi {{where}}","n":1}],"__proto__":""}');
  expect(warnings).toEqual([{ code: 'unknown_variable', name: 'x' }]);
  expect(templatesIn(payload)).toEqual(['{{where}}', 'Hi {{input}}', '{{x}}']);
});

test('what depends on values of the run is known', () => {
  expect(['channel', 'blocks.0.text', 'blocks', ''].map((path) => isTemplated(payload, path))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(['blocks.0.n', 'missing', 'blocks.0.missing'].map((path) => isTemplated(payload, path))).toEqual([
    false,
    false,
    false,
  ]);
  expect(isTemplated({ channel: 'C1' }, 'channel')).toBe(false);
});

test('many strings are no longer together than one may be', () => {
  const many = { items: Array.from({ length: 100 }, () => '{{input}}') };
  expect(() => renderPayload(many, { ...values, input: 'x'.repeat(50_000) })).toThrow(TemplateTooLong);
});
