import type { SweepRunner } from '../src/operations/sweep-runner.ts';
import type { SweepResult, TickArgs } from '../src/temporal/contracts/housekeeping.ts';

export const createHousekeepingActivities = ({ sweepRunner }: { sweepRunner: SweepRunner }) => ({
  /** Runs the sweeps that are due. Succeeds although some of them fail: each has a result of its own. */
  runSweeps(tick: TickArgs): Promise<SweepResult[]> {
    return sweepRunner.tick(tick);
  },
});

export type HousekeepingActivities = ReturnType<typeof createHousekeepingActivities>;
