import type { z } from '@hono/zod-openapi';

const nouns: Record<string, string> = {
  int: 'an integer',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};
/** The counted parts, if a limit is not on the value itself. */
const counted: Record<string, string> = { string: 'character', array: 'element', number: '', int: '' };
const nounOf = (expected: string) => nouns[expected] ?? `a ${expected}`;

function boundMessage(bound: 'at least' | 'at most', limit: number | bigint, origin: string): string | undefined {
  const unit = counted[origin];
  if (unit === undefined) return undefined;
  return `Expected ${bound} ${limit}${unit && ` ${unit}${limit === 1 ? '' : 's'}`}.`;
}

/** The expected form of a text. */
const formats: Record<string, string> = {
  datetime: 'Expected a time with an offset, as in 2026-12-01T09:00:00Z.',
  date: 'Expected a date, as in 2026-12-01.',
  email: 'Expected an e-mail address.',
  url: 'Expected an address, as in https://example.com/path.',
  uuid: 'Expected a UUID.',
};

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
    case 'invalid_format':
      if (issue.format === 'regex') return `Expected a text that matches ${issue.pattern}.`;
      return formats[issue.format];
    case 'invalid_key':
      return `The name of this member is not valid. ${issue.issues[0]?.message ?? ''}`.trim();
    case 'invalid_union': {
      const options = (issue as { options?: unknown[] }).options ?? [];
      return options.length > 0 ? `Expected one of ${options.join(', ')}.` : 'Expected another form.';
    }
    default:
      return undefined;
  }
}
