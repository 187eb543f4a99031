import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `look` finds something; fails with `what` when that takes too long. Tests wait so and never for a time. */
export async function until<Found>(
  what: string,
  look: () => Promise<Found | undefined | false>,
  withinMs = 60_000,
): Promise<Found> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`Waited ${withinMs} ms in vain: ${what}`);
    await sleep(50);
  }
}
