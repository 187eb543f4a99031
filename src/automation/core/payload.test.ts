import { expect, test } from '@jest/globals';
import { isTemplated, templatesIn } from './payload.ts';

const payload = JSON.parse(
  '{"channel": "{{where}}", "blocks": [{"text": "Hi {{input}}", "n": 1}], "__proto__": "{{x}}"}',
);

test('strings of a payload are templates, at any depth', () => {
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
