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
 * What a request is told of a value whose schema says nothing of its own, in sentences such as those that do.
 * @returns undefined where the library's own words will do
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
