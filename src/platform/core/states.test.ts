import { describe, expect, test } from '@jest/globals';
import { defineStates, describeStates } from './states.ts';

const lamp = defineStates(
  { table: 'lamp', column: 'state' },
  {
    off: { meaning: 'It is dark.', initial: true, to: ['on', 'broken'] },
    on: { meaning: 'It shines.', to: ['off', 'broken'] },
    broken: { meaning: 'It cannot be repaired.', to: [] },
  },
);

describe('a table of states', () => {
  test('says where states lead and where they come from', () => {
    expect(lamp.all).toEqual(['off', 'on', 'broken']);
    expect(lamp.initial).toEqual(['off']);
    expect(lamp.terminal).toEqual(['broken']);
    expect(lamp.all.filter(lamp.isTerminal)).toEqual(['broken']);
    expect(lamp.canMove('on', 'off')).toBe(true);
    expect(lamp.canMove('broken', 'on')).toBe(false);
    expect(lamp.before('broken')).toEqual(['off', 'on']);
  });

  test('writes literals for SQL, and refuses states that are none', () => {
    expect(lamp.sql('off', 'on')).toBe("'off', 'on'");
    expect(() => defineStates(undefined, { "it's": { meaning: 'No.', to: [] } })).toThrow('cannot be a state');
  });

  test('describes its states, in the words of the caller', () => {
    expect(describeStates(lamp, (state) => state.toUpperCase())).toBe(
      '`OFF`: It is dark. `ON`: It shines. `BROKEN`: It cannot be repaired.',
    );
  });
});
