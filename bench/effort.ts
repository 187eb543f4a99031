/** How thoroughly the bench measures. */
export interface Effort {
  /** Rounds of a comparison, where it has more. */
  maxRounds: number;
  /** Rounds that are repeated where others disturbed them. */
  spareRounds: number;
  /** How long a round waits for others to be calm. */
  patienceMs: number;
}

const thorough: Effort = { maxRounds: Number.POSITIVE_INFINITY, spareRounds: 2, patienceMs: 5_000 };
const quick: Effort = { maxRounds: 3, spareRounds: 0, patienceMs: 500 };

let chosen = thorough;

/** From now on every comparison is a short one: it shows a large difference and proves no small one. */
export function measureQuickly(): void {
  chosen = quick;
}

export const effort = (): Effort => chosen;
