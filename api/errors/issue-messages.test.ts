import { z } from '@hono/zod-openapi';
import { expect, test } from '@jest/globals';
import { issueMessage } from './issue-messages.ts';

const schema = z.object({
  name: z.string(),
  on: z.boolean().optional(),
  tags: z.array(z.string()).optional(),
  count: z.int().min(1).max(9).optional(),
  kind: z.enum(['a', 'b']).optional(),
  own: z.string('Expected a word.').optional(),
  text: z.string().max(2).optional(),
  filled: z.string().min(1).optional(),
  pair: z.array(z.number()).max(2).optional(),
  at: z.iso.datetime({ offset: true }).optional(),
  form: z
    .discriminatedUnion('type', [z.object({ type: z.literal('a') }), z.object({ type: z.literal('b') })])
    .optional(),
  word: z
    .string()
    .regex(/^[a-z]+$/)
    .optional(),
  byWord: z.record(z.string().regex(/^[a-z]+$/), z.number()).optional(),
  strict: z.strictObject({ monday: z.string().optional() }).optional(),
});
const messageOf = (given: unknown) => schema.safeParse(given, { error: issueMessage }).error?.issues[0]?.message;

test.each([
  [{}, 'Required.'],
  [[], 'Expected an object.'],
  [null, 'Expected an object.'],
  [{ name: 5 }, 'Expected a string.'],
  [{ name: null }, 'Expected a string.'],
  [{ name: 'n', on: 'yes' }, 'Expected a boolean.'],
  [{ name: 'n', tags: 'x' }, 'Expected an array.'],
  [{ name: 'n', count: '5' }, 'Expected a number.'],
  [{ name: 'n', count: 1.5 }, 'Expected an integer.'],
  [{ name: 'n', count: 0 }, 'Expected at least 1.'],
  [{ name: 'n', count: 10 }, 'Expected at most 9.'],
  [{ name: 'n', kind: 'c' }, 'Expected one of a, b.'],
  [{ name: 'n', own: 5 }, 'Expected a word.'],
  [{ name: 'n', text: 'abc' }, 'Expected at most 2 characters.'],
  [{ name: 'n', filled: '' }, 'Expected at least 1 character.'],
  [{ name: 'n', pair: [1, 2, 3] }, 'Expected at most 2 elements.'],
  [{ name: 'n', at: 'tomorrow' }, 'Expected a time with an offset, as in 2026-12-01T09:00:00Z.'],
  [{ name: 'n', form: { type: 'c' } }, 'Expected one of a, b.'],
  [{ name: 'n', form: {} }, 'Expected one of a, b.'],
  [{ name: 'n', word: '5' }, 'Expected a text that matches /^[a-z]+$/.'],
  [{ name: 'n', byWord: { 5: 5 } }, 'The name of this member is not valid. Expected a text that matches /^[a-z]+$/.'],
  [{ name: 'n', strict: { mon: [] } }, 'Unknown field: mon.'],
  [{ name: 'n', strict: { ['x'.repeat(5_000)]: 1 } }, `Unknown field: ${'x'.repeat(100)}.`],
])('of %j it is said: %s', (given, message) => expect(messageOf(given)).toEqual(message));
