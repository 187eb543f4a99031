import type { DrainReport } from '../platform/outbox.ts';

/** Below what schedulers and proxies wait for an answer. */
const longestMs = 20_000;

/** Drains until nothing that is due is left, or for twenty seconds. @returns how many entries are done */
export async function drainAll(drain: () => Promise<DrainReport>): Promise<number> {
  const deadline = performance.now() + longestMs;
  let total = 0;
  for (;;) {
    const { drained } = await drain();
    total += drained;
    if (drained === 0 || performance.now() > deadline) return total;
  }
}
