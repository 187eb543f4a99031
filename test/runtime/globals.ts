// Loaded in place of `@jest/globals` by tests that Node itself loads: each name stands for that of the file that runs.
import type * as jestGlobals from '@jest/globals';

type Globals = typeof jestGlobals;
type Name = 'afterAll' | 'afterEach' | 'beforeAll' | 'beforeEach' | 'describe' | 'expect' | 'it' | 'jest' | 'test';

let current: Partial<Globals> = {};

/** What the tests of the next file are declared with. */
export function setGlobals(globals: Partial<Globals>): void {
  current = globals;
}

/** Files that several test files import keep what they imported, so they hold the name and not the function behind it. */
function named<Key extends Name>(name: Key): Globals[Key] {
  const target = () => {};
  const now = () => current[name] as unknown as Record<PropertyKey, unknown> & ((...args: unknown[]) => unknown);
  return new Proxy(target, {
    apply: (_, self, args) => Reflect.apply(now(), self, args),
    get: (_, key) => now()[key],
  }) as unknown as Globals[Key];
}

export const afterAll = named('afterAll');
export const afterEach = named('afterEach');
export const beforeAll = named('beforeAll');
export const beforeEach = named('beforeEach');
export const describe = named('describe');
export const expect = named('expect');
export const it = named('it');
export const jest = named('jest');
export const test = named('test');
