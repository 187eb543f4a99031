import { setTimeout as sleep } from 'node:timers/promises';

/** Between two looks, in ms. A look costs both this process and the product, and most that wait do so for seconds. */
const interval = { min: 50, max: 250 };

/**
 * Waits until `look` finds something; fails with `what` when that takes too long: much longer than a sweep that comes every
 * minute takes on a busy machine. Tests wait so and never for a time. What has taken long already is looked at less often:
 * what is found late by this is late by a tenth at most.
 */
export async function until<Found>(
  what: string,
  look: () => Promise<Found | undefined | false>,
  withinMs = 100_000,
): Promise<Found> {
  const start = performance.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const waited = performance.now() - start;
    if (waited > withinMs) throw new Error(`Waited ${withinMs} ms in vain: ${what}`);
    await sleep(Math.min(interval.max, Math.max(interval.min, waited / 10)));
  }
}
