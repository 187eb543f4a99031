import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { eventsOf, type RunHistory } from './run-events.ts';

const at = new Date(0);
const step = (status: 'running' | 'completed' | 'failed' | 'skipped' | 'cancelled', attempts = 1) => ({
  status,
  attempts,
  startedAt: at,
  finishedAt: status === 'running' ? null : at,
});
const history = (
  status: RunHistory['status'],
  stepResults: RunHistory['stepResults'],
  startedAt: Date | null = at,
) => ({
  status,
  startedAt,
  stepResults,
  finishedAt: status === 'queued' || status === 'running' ? null : at,
});
const names = (of: RunHistory) => eventsOf(of).map(({ id, name }) => `${id} ${name}`);

test.each<[string, RunHistory, string[]]>([
  ['nothing yet', history('queued', [], null), []],
  ['cancelled in the queue', history('cancelled', [], null), ['1 run.cancelled']],
  [
    'done, with one passed over and one taken over',
    history('completed', [step('completed', 0), step('completed'), step('skipped', 0)]),
    ['1 run.started', '2 step.started', '3 step.completed', '4 run.completed'],
  ],
  [
    'failed',
    history('failed', [step('completed'), step('failed', 3)]),
    ['1 run.started', '2 step.started', '3 step.completed', '4 step.started', '5 step.failed', '6 run.failed'],
  ],
  [
    'cancelled in a step',
    history('cancelled', [step('cancelled')]),
    ['1 run.started', '2 step.started', '3 run.cancelled'],
  ],
])('a run with %s', (_, of, events) => {
  expect(names(of)).toEqual(events);
});

test('an event keeps its number, whatever happens later', () => {
  const outcome = fc.constantFrom('completed' as const, 'skipped' as const);
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 8 }), fc.boolean(), (outcomes, fails) => {
      const done = outcomes.map((status) => step(status, status === 'skipped' ? 0 : 1));
      const moments: RunHistory[] = [history('queued', [], null)];
      done.forEach((_, index) => {
        const before = done.slice(0, index);
        moments.push(history('running', before), history('running', [...before, step('running')]));
      });
      moments.push(fails ? history('failed', [...done, step('failed')]) : history('completed', done));
      for (const [index, moment] of moments.entries()) {
        // A step that is skipped after all never appeared as running.
        if (moment.stepResults.some(({ status }, at) => status === 'running' && done[at]?.status === 'skipped'))
          continue;
        const later = names(moments.at(-1)!);
        expect(later.slice(0, names(moments[index]!).length)).toEqual(names(moments[index]!));
      }
    }),
  );
});
