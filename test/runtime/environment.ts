/**
 * The environment of tests that Node itself loads: the globals of the process, with nothing of Jest's in between. What a
 * test file finds changed there is put back after it.
 */
export default class NativeEnvironment {
  readonly global = globalThis;
  readonly fakeTimers = null;
  readonly fakeTimersModern = null;
  readonly moduleMocker = null;
  readonly #console = globalThis.console;
  readonly #exit = process.exit;

  async setup(): Promise<void> {}

  async teardown(): Promise<void> {
    globalThis.console = this.#console;
    process.exit = this.#exit;
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  getVmContext(): null {
    return null;
  }
}
