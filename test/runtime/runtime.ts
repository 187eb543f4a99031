import { createRequire, flushCompileCache, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { jest as jestOfGlobals } from '@jest/globals';
import { setGlobals } from './globals.ts';

const require = createRequire(import.meta.url);
const globalsUrl = new URL('./globals.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' && context.parentURL !== globalsUrl
      ? { url: globalsUrl, format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
});

/** How long a test may take, unless it says so itself: read by jest-circus. */
const timeoutSymbol = Symbol.for('TEST_TIMEOUT_SYMBOL');
const handlersSymbol = Symbol.for('EVENT_HANDLERS');
const globals = globalThis as unknown as Record<symbol, unknown>;

type Jest = typeof jestOfGlobals;

/** What Jest itself makes functions and clocks with that stand in for others. */
interface StandIns {
  mocker: Pick<Jest, 'fn' | 'spyOn' | 'restoreAllMocks'>;
  timers: Pick<Jest, 'useFakeTimers' | 'useRealTimers' | 'advanceTimersByTime' | 'advanceTimersByTimeAsync'>;
}

let standIns: StandIns | undefined;

/** Few files use them, so they are loaded for the first that does. */
function stand(): StandIns {
  if (standIns) return standIns;
  const requireOfJest = createRequire(require.resolve('@jest/globals'));
  const { ModuleMocker } = requireOfJest('jest-mock');
  const { ModernFakeTimers } = requireOfJest('@jest/fake-timers');
  const timers = new ModernFakeTimers({ config: { fakeTimers: {} }, global: globalThis });
  standIns = { mocker: new ModuleMocker(globalThis), timers };
  return standIns;
}

/** The methods of Jest's object that these tests use. */
const jest = {
  setTimeout(ms: number) {
    globals[timeoutSymbol] = ms;
  },
  fn: (...args: Parameters<Jest['fn']>) => stand().mocker.fn(...args),
  spyOn: (...args: Parameters<Jest['spyOn']>) => stand().mocker.spyOn(...args),
  useFakeTimers: () => stand().timers.useFakeTimers(),
  useRealTimers: () => stand().timers.useRealTimers(),
  advanceTimersByTime: (ms: number) => stand().timers.advanceTimersByTime(ms),
  advanceTimersByTimeAsync: (ms: number) => stand().timers.advanceTimersByTimeAsync(ms),
};

/**
 * Loads test files and what they import as the product is loaded: by Node, once in each of Jest's workers. Jest's own
 * runtime makes a context for each test file and compiles everything anew in it, which took a second or two of a
 * processor for each file that opens a database. No module is mocked in these tests, so they need nothing else of it.
 */
export default class NativeRuntime {
  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  /** Each test file is loaded once in a worker; what it imports may be there already. */
  async unstable_importModule(path: string): Promise<unknown> {
    return import(pathToFileURL(path).href);
  }

  requireModule(path: string): unknown {
    return require(path);
  }

  /** The framework keeps the state of a file in its modules: each file has a fresh one. */
  requireInternalModule(path: string): unknown {
    delete require.cache[require.resolve(path)];
    return require(path);
  }

  setGlobalsForRuntime(given: object): void {
    setGlobals({ ...given, jest } as unknown as Parameters<typeof setGlobals>[0]);
  }

  teardown(): void {
    setGlobals({});
    standIns?.timers.useRealTimers();
    standIns?.mocker.restoreAllMocks();
    // For the next run, and because Jest may end a worker by a signal.
    flushCompileCache();
    delete globals[timeoutSymbol];
    delete globals[handlersSymbol];
  }

  enterTestCode(): void {}
  leaveTestCode(): void {}
  resetModules(): void {}
  clearAllMocks(): void {}
  resetAllMocks(): void {}
  restoreAllMocks(): void {}

  getSourceMaps(): Map<string, string> {
    return new Map();
  }

  getAllCoverageInfoCopy(): undefined {
    return undefined;
  }
}
