import type { Cleanup } from './cleanup.ts';
import { type Interleaved, pairedRatios, type Series } from './interleave.ts';
import type { Stand } from './stand.ts';

/** A measured quantity, with one value per round. */
export interface Row {
  name: string;
  unit: string;
  values: number[];
  /** CPU ms per operation, by process. */
  cpuMs?: Record<string, number>;
}

export interface Aim {
  atMost?: number;
  atLeast?: number;
}

/** A ratio of rows. Its median is compared with the aim. */
export interface Verdict {
  name: string;
  values: number[];
  aim?: Aim;
}

export interface Finding {
  rows: Row[];
  verdicts: Verdict[];
  /** Cores used by other processes. */
  otherCores?: number | undefined;
}

interface ItemText {
  name: string;
  title: string;
}

/** What the command line narrows down. */
export interface Choice {
  /** Part of the names of the attacks that P22 makes; all unless given. */
  attack?: string | undefined;
}

/** An item of the bench. Most compare the product with a baseline on the same servers. */
export type Item = ItemText &
  (
    | { needs: 'stand'; run(stand: Stand, cleanup: Cleanup, choice?: Choice): Promise<Finding[]> }
    | { needs: 'nothing'; run(cleanup: Cleanup): Promise<Finding[]> }
  );

/** The product (the last side) against each of the baselines. `aims` by name of the baseline. */
export function compare(
  unit: string,
  what: string,
  { series, otherCores }: Interleaved,
  aims: Record<string, Aim>,
): Finding {
  const product = series.at(-1)!;
  const baselines = series.slice(0, -1);
  const verdict = (baseline: Series): Verdict => {
    const aim = aims[baseline.name];
    return {
      name: `${what}: product / ${baseline.name}`,
      values: pairedRatios(product, baseline),
      ...(aim && { aim }),
    };
  };
  return {
    rows: series.map(({ name, values, cpuMs }) => ({ name: `${what}, ${name}`, unit, values, cpuMs })),
    verdicts: baselines.map(verdict),
    otherCores,
  };
}
