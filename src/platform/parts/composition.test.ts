import { describe, expect, test } from '@jest/globals';
import { defineEvent } from '../core/event-type.ts';
import { defineId } from '../core/ids.ts';
import { text } from '../core/json-schema.ts';
import { openLog } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { Composition } from './composition.ts';
import type { Part } from './part.ts';

interface Base {
  metrics: Metrics;
}

const base = (): Base => ({ metrics: new Metrics(openLog('silent', 'test')) });
const partOf = (name: string, more: Partial<Part<Base, object>>): Part<Base, object> => ({
  name,
  open: () => ({}),
  ...more,
});
const thingMade = defineEvent({
  type: 'thing.made',
  description: 'A thing was made.',
  since: '2026-11-21',
  data: (facts: { id: string }) => facts,
  members: { id: text() },
  example: { id: 'a' },
});
const done = async () => {};
const gauge = { name: 'atelier_things', help: 'Things.', read: () => [{ value: 1 }] };

const claims: [what: string, more: Partial<Part<Base, object>>][] = [
  ['the id prefix thg', { ids: [defineId('thg')] }],
  ['the error code thing_not_found', { errors: { thing_not_found: 'not_found' } }],
  ['the event type thing.made', { events: [thingMade] }],
  ['the audit action thing.make', { auditActions: { 'thing.make': defineId('abc') } }],
  ['the fail point thing.made', { failPoints: ['thing.made'] }],
  ['the outbox kind thing.start', { outbox: () => ({ 'thing.start': done }) }],
  ['the sweep old things', { sweeps: () => [{ name: 'old things', everyMs: 1, run: async () => 0 }] }],
  ['the gauge atelier_things', { gauges: () => [gauge] }],
  ['the service things', { open: () => ({ things: 1 }) }],
];

describe('two parts that claim one name', () => {
  test.each(claims)('fail at start: %s', async (what, more) => {
    const twice = new Composition<Base, object>().with(partOf('first', more)).with(partOf('second', more));
    const start = async () => twice.catalog && (await twice.open(base()));
    await expect(start()).rejects.toThrow(`The parts first and second both declare ${what}.`);
    const once = new Composition<Base, object>().with(partOf('first', more)).with(partOf('second', {}));
    expect(once.catalog).toBeDefined();
    await expect(once.open(base())).resolves.toBeDefined();
  });

  test('a part cannot replace a service of the foundation', async () => {
    const composed = new Composition<Base, object>().with(partOf('first', { open: () => ({ metrics: 1 }) }));
    await expect(composed.open(base())).rejects.toThrow(
      'The parts foundation and first both declare the service metrics.',
    );
  });
});

test('parts open and start in their order, use what earlier ones give, and close in reverse', async () => {
  const calls: string[] = [];
  const first: Part<Base, { one: number }> = {
    name: 'first',
    open: () => ({ one: 1 }),
    start: () => void calls.push('start first'),
    close: () => void calls.push('close first'),
  };
  const second: Part<Base & { one: number }, { two: number }> = {
    name: 'second',
    open: ({ one }) => ({ two: one + 1 }),
    start: ({ two }) => void calls.push(`start second with ${two}`),
    close: () => void calls.push('close second'),
  };
  const opened = await new Composition<Base, object>().with(first).with(second).open(base());
  expect(opened.services).toMatchObject({ one: 1, two: 2 });
  await opened.start();
  await opened.close();
  expect(calls).toEqual(['start first', 'start second with 2', 'close second', 'close first']);
});
