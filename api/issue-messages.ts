import type { z } from '@hono/zod-openapi';

const nouns: Record<string, string> = {
  int: 'an integer',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};
const isNumber = (origin: string) => origin === 'number' || origin === 'int';
const nounOf = (expected: string) => nouns[expected] ?? `a ${expected}`;

/**
 * The message for an invalid value whose schema has no message of its own.
 * @returns undefined to use the library's message
 */
export function issueMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'Required.' : `Expected ${nounOf(issue.expected)}.`;
    case 'invalid_value':
      if (issue.input === undefined) return 'Required.';
      return `Expected ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}.`;
    case 'too_small':
      return isNumber(issue.origin) && issue.inclusive !== false ? `Expected at least ${issue.minimum}.` : undefined;
    case 'too_big':
      return isNumber(issue.origin) && issue.inclusive !== false ? `Expected at most ${issue.maximum}.` : undefined;
    default:
      return undefined;
  }
}
