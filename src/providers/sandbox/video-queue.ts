import type { TenantKey } from '../../platform/security/tenant-key.ts';

/** The pause before a video asks for a slot again. */
const pauseMs = { minimum: 500, maximum: 60_000 };

/** A video that does not ask again for this long after its pause was cancelled, or is computed elsewhere. */
const missedMs = 30_000;

/** The duration of one computation before one was measured, and the weight of each later one in the average. */
const first = { ms: 2_000, weight: 0.2 };

/**
 * The slots of one process for videos of the sandbox. Videos without a slot wait in their workflows. Each time one asks, it
 * costs Temporal and the database some milliseconds, and hundreds may wait. So the pause depends on the place of the video:
 * behind those of its organization that asked before, while organizations take turns.
 */
export class VideoQueue {
  readonly #slots: number;
  readonly #now: () => number;
  /** When each is missed, by organization, in the order in which they asked first. */
  readonly #waiting = new Map<TenantKey, Map<string, number>>();
  #underWay = 0;
  #averageMs = first.ms;

  constructor(slots: number, now: () => number = () => performance.now()) {
    this.#slots = slots;
    this.#now = now;
  }

  /** @returns after how many milliseconds the video should ask again; undefined when a slot is free */
  pauseOf(key: TenantKey, id: string): number | undefined {
    if (this.#underWay < this.#slots) return undefined;
    this.#forgetMissed();
    const own = this.#waiting.get(key) ?? new Map<string, number>();
    this.#waiting.set(key, own);
    const found = [...own.keys()].indexOf(id);
    const before = found < 0 ? own.size : found;
    // Little's law: the slots take in `slots / average` videos in a millisecond.
    const untilSlotMs = ((before + 1) * this.#waiting.size * this.#averageMs) / this.#slots;
    const pause = Math.ceil(Math.min(pauseMs.maximum, Math.max(pauseMs.minimum, untilSlotMs)));
    own.set(id, this.#now() + pause + missedMs);
    return pause;
  }

  /** Computes a video in a slot. */
  async compute<Made>(key: TenantKey, id: string, work: () => Promise<Made>): Promise<Made> {
    this.#forget(key, id);
    this.#underWay++;
    const beganAt = this.#now();
    try {
      return await work();
    } finally {
      this.#underWay--;
      this.#averageMs += first.weight * (this.#now() - beganAt - this.#averageMs);
    }
  }

  #forget(key: TenantKey, id: string): void {
    const own = this.#waiting.get(key);
    own?.delete(id);
    if (own?.size === 0) this.#waiting.delete(key);
  }

  #forgetMissed(): void {
    const now = this.#now();
    for (const [key, own] of this.#waiting) {
      for (const [id, missedAt] of own) if (missedAt < now) this.#forget(key, id);
    }
  }
}
