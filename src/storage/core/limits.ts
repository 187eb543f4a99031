import { planLimits } from '../../tenancy/core/plan-limits.ts';

const gib = 1024 ** 3;

export const storageLimits = planLimits({
  /** Bytes of files, and of the inputs and outputs of runs, that are kept. */
  storageBytes: {
    label: 'GiB of files, inputs and outputs',
    position: 210,
    unit: gib,
    max: Number.MAX_SAFE_INTEGER,
    plans: { free: 2 * gib, pro: 50 * gib, team: 500 * gib, enterprise: 5 * 1024 * gib },
  },
});
