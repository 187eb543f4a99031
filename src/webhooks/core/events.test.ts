import { expect, test } from '@jest/globals';
import { eventTypes, isEventFilter, listensTo } from './events.ts';

test('a subscription hears of what it names, or of everything', () => {
  for (const type of eventTypes) {
    expect(listensTo([type], type)).toBe(true);
    expect(listensTo(['*'], type)).toBe(true);
    expect(listensTo([], type)).toBe(false);
    expect(
      listensTo(
        eventTypes.filter((other) => other !== type),
        type,
      ),
    ).toBe(false);
  }
});

test('a filter is a known type or the star, and no pattern', () => {
  expect([...eventTypes, '*'].every(isEventFilter)).toBe(true);
  expect(['', 'workflow.run.*', 'workflow.run', 'WORKFLOW.RUN.STARTED', '**', 'toString'].some(isEventFilter)).toBe(
    false,
  );
});
