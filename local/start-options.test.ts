import { expect, test } from '@jest/globals';
import { readStartOptions, usage } from './start-options.ts';

test('nothing is chosen unless it is asked for', () => {
  expect(readStartOptions([])).toEqual({ json: false, reset: false, yes: false, help: false });
});

test('each documented option is read, and each option is documented', () => {
  const documented = usage.match(/^ +--[a-z]+/gm)!.map((option) => option.trim());
  const chosen = readStartOptions(documented);
  expect(Object.values(chosen)).toEqual(documented.map(() => true));
});

test.each(['--port=4000', '--resett', 'status'])('%s is refused by its name', (argument) => {
  expect(() => readStartOptions([argument])).toThrow(argument.split('=')[0]);
});
