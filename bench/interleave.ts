import { type CpuCost, type CpuMeter, cpuBetween } from './cpu-meter.ts';
import { effort } from './effort.ts';
import { median } from './statistics.ts';

/** The measurement of one side in one round. */
export interface Round {
  value: number;
  /** Number of operations, including untimed ones. CPU time is divided by it. */
  operations: number;
}

/** One side of a comparison. */
export interface Side {
  name: string;
  /** Warms up. */
  warmUp(): Promise<unknown>;
  round(): Promise<Round>;
}

export interface Series {
  name: string;
  /** One value per round. */
  values: number[];
  /** CPU ms per operation, by process; empty where it cannot be measured. */
  cpuMs: Record<string, number>;
}

export interface Interleaved {
  /** In the order of the sides. */
  series: Series[];
  /** Cores used by other processes, which disturb the measurement (median of the rounds). */
  otherCores: number | undefined;
}

/** If other processes use more cores than this, a round is postponed or repeated. */
const calmCores = 0.15;

interface Measured extends Round {
  cost: CpuCost | undefined;
}

/**
 * Measures the sides alternately (A B A B …), so that disturbances affect all of them. Rounds disturbed by other processes
 * are repeated within limits, and the least disturbed rounds are kept.
 */
export async function interleave(meter: CpuMeter, wanted: number, sides: Side[]): Promise<Interleaved> {
  const { maxRounds, spareRounds } = effort();
  const rounds = Math.min(wanted, maxRounds);
  for (const side of sides) await side.warmUp();
  const all: { measured: Measured[]; otherCores: number }[] = [];
  const isCalm = ({ otherCores }: { otherCores: number }) => otherCores <= calmCores;
  while (all.length < rounds + spareRounds && all.filter(isCalm).length < rounds) {
    const measured: Measured[] = [];
    for (const side of sides) measured.push(await measureRound(meter, side));
    all.push({ measured, otherCores: Math.max(...measured.map(({ cost }) => cost?.otherCores ?? 0)) });
  }
  const calmest = new Set([...all].sort((a, b) => a.otherCores - b.otherCores).slice(0, rounds));
  const kept = all.filter((one) => calmest.has(one));
  const others = kept.flatMap(({ measured }) => measured.flatMap(({ cost }) => cost?.otherCores ?? []));
  return {
    series: sides.map(({ name }, side) =>
      toSeries(
        name,
        kept.map(({ measured }) => measured[side]!),
      ),
    ),
    otherCores: others.length > 0 ? median(others) : undefined,
  };
}

async function measureRound(meter: CpuMeter, side: Side): Promise<Measured> {
  await meter.waitForCalm(calmCores, effort().patienceMs);
  const before = meter.read();
  const round = await side.round();
  return { ...round, cost: cpuBetween(before, meter.read()) };
}

function toSeries(name: string, rounds: Measured[]): Series {
  const operations = rounds.reduce((sum, round) => sum + round.operations, 0);
  const cpuMs: Record<string, number> = {};
  for (const { cost } of rounds) {
    for (const [of, ms] of cost?.byName ?? []) cpuMs[of] = (cpuMs[of] ?? 0) + ms / operations;
  }
  return { name, values: rounds.map(({ value }) => value), cpuMs };
}

/** Ratio of product to baseline in each round. */
export function pairedRatios(product: Series, baseline: Series): number[] {
  return product.values.map((value, round) => value / baseline.values[round]!);
}
