import type { DrainReport } from '../platform/outbox/outbox.ts';

/** Shorter than the usual timeouts of schedulers and proxies. */
const maxMs = 20_000;

/** Drains until no due entry is left, for at most 20 seconds. @returns the number of drained entries */
export async function drainAll(drain: () => Promise<DrainReport>): Promise<number> {
  const deadline = performance.now() + maxMs;
  let total = 0;
  for (;;) {
    const { drained } = await drain();
    total += drained;
    if (drained === 0 || performance.now() > deadline) return total;
  }
}
