import { expect, test } from '@jest/globals';
import { bookingBody } from './booking-input.ts';

test('answers and metadata keep members of any name', () => {
  const attached = '{"__proto__":{"a":1},"constructor":2}';
  const body = {
    eventTypeId: 'et_1',
    start: '2041-06-12T09:00:00Z',
    attendee: { name: 'Ada', email: 'ada@example.com' },
    responses: JSON.parse(attached),
    metadata: JSON.parse(attached),
  };
  const { responses, metadata } = bookingBody.parse(body);
  expect([responses, metadata].map((one) => JSON.stringify(one))).toEqual([attached, attached]);
  expect(bookingBody.safeParse({ ...body, metadata: [] }).success).toBe(false);
});
