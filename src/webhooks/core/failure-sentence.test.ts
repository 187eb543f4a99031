import { expect, test } from '@jest/globals';
import { describeWebhook, failureSentence } from './failure-sentence.ts';

test('a webhook is its name and its host: nothing else of its URL, and no Markdown', () => {
  expect(describeWebhook('Shop `x`\n# y', 'https://user:secret@hooks.example.com:8443/path?token=1')).toBe(
    '`Shop  x  # y` at `hooks.example.com:8443`',
  );
  expect(describeWebhook('n'.repeat(100), 'nothing')).toBe(`\`${'n'.repeat(60)}\` at \`an invalid URL\``);
});

test('a failure is a sentence with its class, or a status', () => {
  expect(failureSentence('timeout', null)).toBe('it did not answer in time (timeout)');
  expect(failureSentence(null, 503)).toBe('HTTP 503');
  expect(failureSentence('of_a_later_version', null)).toBe('of_a_later_version');
});
