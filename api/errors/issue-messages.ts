import type { z } from '@hono/zod-openapi';

const nouns: Record<string, string> = {
  int: 'an integer',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};
/** What is counted where a limit is not on the value itself. */
const counted: Record<string, string> = { string: 'character', array: 'element', number: '', int: '' };
const nounOf = (expected: string) => nouns[expected] ?? `a ${expected}`;

function boundMessage(bound: 'at least' | 'at most', limit: number | bigint, origin: string): string | undefined {
  const unit = counted[origin];
  if (unit === undefined) return undefined;
  return `Expected ${bound} ${limit}${unit && ` ${unit}${limit === 1 ? '' : 's'}`}.`;
}

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
      return issue.inclusive === false ? undefined : boundMessage('at least', issue.minimum, issue.origin);
    case 'too_big':
      return issue.inclusive === false ? undefined : boundMessage('at most', issue.maximum, issue.origin);
    case 'unrecognized_keys':
      return `Unknown field: ${issue.keys[0]?.slice(0, 100)}.`;
    default:
      return undefined;
  }
}
