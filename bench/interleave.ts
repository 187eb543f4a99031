import { type CpuCost, type CpuMeter, cpuBetween } from './cpu-meter.ts';
import { median } from './statistics.ts';

/** What one round of one side measured. */
export interface Round {
  value: number;
  /** How many operations it took, those that were not timed included: CPU time is divided by it. */
  operations: number;
}

/** One of the things that are compared. */
export interface Side {
  name: string;
  /** Runs until it is as fast as it gets. */
  warmUp(): Promise<unknown>;
  round(): Promise<Round>;
}

export interface Series {
  name: string;
  /** One value a round. */
  values: number[];
  /** CPU ms per operation, by process; empty where it cannot be measured. */
  cpuMs: Record<string, number>;
}

export interface Interleaved {
  /** In the order of the sides. */
  series: Series[];
  /** Cores that processes other than ours used meanwhile (median of the rounds): what disturbed the measurement. */
  otherCores: number | undefined;
}

/** With others taking more than this, a round is put off, or measured again. */
const calmCores = 0.15;
/** How long a round is put off at most. */
const patienceMs = 5_000;
/** At most so many rounds more than asked for. */
const spareRounds = 2;

interface Measured extends Round {
  cost: CpuCost | undefined;
}

/**
 * Measures the sides in turn, A B A B …, so that whatever slows the machine down slows all of them. Rounds that other
 * processes disturbed are made up for within limits, and the calmest ones are kept.
 */
export async function interleave(meter: CpuMeter, rounds: number, sides: Side[]): Promise<Interleaved> {
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
  await meter.waitForCalm(calmCores, patienceMs);
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

/** Product to baseline, each round against the one beside it. */
export function pairedRatios(product: Series, baseline: Series): number[] {
  return product.values.map((value, round) => value / baseline.values[round]!);
}
