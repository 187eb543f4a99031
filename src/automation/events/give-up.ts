import type { Log } from '../../platform/observability/log.ts';
import type { Tenant } from '../../platform/tenant.ts';
import { isTemporary, unexpectedAttempts } from '../../storage/index.ts';

/** Maximum work items whose failures are remembered. */
const maxRemembered = 10_000;

/**
 * Gives up work that keeps failing for an unexpected reason, because later events of the same name wait for it. A
 * process forgets the failures when it ends.
 */
export class GivingUp {
  readonly #failures = new Map<string, number>();

  /** @param giveUp called after the fifth failure, in place of the error @throws what the work throws before */
  async attempt(
    { key, tenant, log }: { key: string; tenant: Tenant; log: Log },
    work: () => Promise<void>,
    giveUp: () => Promise<unknown>,
  ): Promise<void> {
    try {
      await work();
      this.#failures.delete(key);
    } catch (error) {
      if (isTemporary(error)) throw error;
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.delete(key);
      if (failures < unexpectedAttempts) {
        this.#failures.set(key, failures);
        for (const [oldest] of this.#failures) if (this.#failures.size > maxRemembered) this.#failures.delete(oldest);
        throw error;
      }
      const facts = Object.assign({ err: error, work: key, attempt: failures }, tenant);
      // The line says that it was given up, and is written also when that fails.
      await giveUp().finally(() => log.error(facts, 'an event failed: it keeps failing unexpectedly'));
    }
  }
}
