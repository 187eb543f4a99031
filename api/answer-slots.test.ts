import { EventEmitter } from 'node:events';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { AnswerSlots } from './answer-slots.ts';

class Outgoing extends EventEmitter {
  destroyed = false;

  disconnect(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** Answers of two slots, of which three may wait. */
function scene() {
  const slots = new AnswerSlots(2, 3);
  const begun: string[] = [];
  const ask = (name: string, { key = 'one', fails = false } = {}) => {
    const outgoing = new Outgoing();
    const read = async () => {
      begun.push(name);
      if (fails) throw new Error('no storage');
      return name;
    };
    const asked = slots.read(key, outgoing as never, read);
    return { outgoing, outcome: asked.catch((error) => (error as { code?: string; message: string }).message) };
  };
  return { begun, ask };
}

test('two answers of a key are read, and others when these were taken', async () => {
  const { begun, ask } = scene();
  const [first, second, third, fourth] = [ask('1'), ask('2'), ask('3'), ask('4')];
  const other = ask('of another', { key: 'two' });
  expect(await Promise.all([first.outcome, second.outcome, other.outcome])).toEqual(['1', '2', 'of another']);
  await yieldToEventLoop();
  expect(begun).toEqual(['1', '2', 'of another']);
  second.outgoing.emit('close');
  expect(await third.outcome).toBe('3');
  first.outgoing.disconnect();
  expect(await fourth.outcome).toBe('4');
});

test('a read that fails, and a client that has disconnected, keep no slot', async () => {
  const { begun, ask } = scene();
  const [failed, kept, gone, last] = [ask('fails', { fails: true }), ask('1'), ask('2'), ask('3')];
  gone.outgoing.disconnect();
  expect(await Promise.all([failed, kept, gone, last].map(({ outcome }) => outcome))).toEqual([
    'no storage',
    '1',
    'The answer is not available at the moment.',
    '3',
  ]);
  expect(begun).toEqual(['fails', '1', '3']);
});

test('the number of those that wait is bounded', async () => {
  const { ask } = scene();
  const asked = ['1', '2', '3', '4', '5'].map((name) => ask(name));
  expect(await ask('6').outcome).toBe('Too many requests.');
  for (const { outgoing, outcome } of asked) {
    await outcome;
    outgoing.emit('close');
  }
  expect(await ask('7').outcome).toBe('7');
});
