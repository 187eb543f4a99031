import { expect, test } from '@jest/globals';
import { bytesOf } from './read-gate.ts';

const head = 'GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n';

test('a packet is cut after as many heads as may begin', () => {
  const chunk = Buffer.from(head.repeat(50));
  expect(bytesOf(16, chunk)).toBe(16 * head.length);
  expect(bytesOf(1, chunk)).toBe(head.length);
  expect(bytesOf(16, Buffer.from(head.repeat(3)))).toBe(3 * head.length);
});

test('a body is given whole, and one of blank lines in pieces that have no more requests than that', () => {
  const body = Buffer.alloc(65_536, 'x');
  expect(bytesOf(16, body)).toBe(body.length);
  const lines = Buffer.from('\r\n\r\n'.repeat(1_000));
  expect(bytesOf(16, lines)).toBe(16 * 18);
  const shortest = Buffer.from('GET / HTTP/1.1\r\n\r\n'.repeat(40));
  expect(bytesOf(16, shortest)).toBe(16 * 18);
});
