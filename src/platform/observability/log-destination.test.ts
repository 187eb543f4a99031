import { expect, jest, test } from '@jest/globals';
import { openLog } from './log.ts';
import { requestMessage, standardOutputLog } from './log-destination.ts';

jest.useFakeTimers();

function open() {
  const written: string[] = [];
  const destination = standardOutputLog((text) => void written.push(text));
  return { log: openLog('info', 'test', { destination }), written, destination };
}
const lines = (written: string[]) =>
  written
    .join('')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).n);

test('lines of requests are written together, all others at once, in the order in which they were said', () => {
  const { log, written } = open();
  log.info({ n: 1 }, requestMessage);
  log.info({ n: 2 }, requestMessage);
  expect(written).toHaveLength(0);
  log.info({ n: 3 }, 'something else');
  expect(written).toHaveLength(1);
  log.child({ requestId: 'r' }).info({ n: 4 }, requestMessage);
  expect(written).toHaveLength(1);
  jest.advanceTimersByTime(20);
  expect(written).toHaveLength(2);
  expect(lines(written)).toEqual([1, 2, 3, 4]);
  log.error({ n: 5 }, requestMessage.toUpperCase());
  expect(lines(written)).toEqual([1, 2, 3, 4, 5]);
});

test('a busy process does not gather for ever, and its last lines are written when it ends', () => {
  const { log, written, destination } = open();
  for (let n = 0; n < 2_000; n++) log.info({ n }, requestMessage);
  expect(written.length).toBeGreaterThan(1);
  destination.flush();
  expect(lines(written)).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
});
