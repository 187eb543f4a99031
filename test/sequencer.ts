import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Test } from '@jest/reporters';
import sequencer, { type ShardOptions } from '@jest/test-sequencer';

/** Its types are those of its CommonJS build; what Node imports is the class itself. */
const JestSequencer = sequencer as unknown as typeof sequencer.default;

/** Seconds of a file that `timings.json` does not have yet. */
const unknownSeconds = 10;

/** Files run in an order that the seed decides. Shards take about the same time, as `npm test -- --record-timings` found. */
export default class Sequencer extends JestSequencer {
  readonly #seed: number;

  constructor(options: ConstructorParameters<typeof JestSequencer>[0]) {
    super(options);
    this.#seed = options.globalConfig.seed;
  }

  override sort(tests: Test[]): Test[] {
    const position = ({ path }: Test) => createHash('sha256').update(`${this.#seed} ${path}`).digest('hex');
    const positions = new Map(tests.map((test) => [test, position(test)]));
    return tests.toSorted((a, b) => (positions.get(a)! < positions.get(b)! ? -1 : 1));
  }

  /** The longest file goes to the shard with the least to do, and so on: no seed changes the division. */
  override shard(tests: Test[], { shardIndex, shardCount }: ShardOptions): Test[] {
    const timings: Record<string, number> = JSON.parse(readFileSync(new URL('timings.json', import.meta.url), 'utf8'));
    const seconds = ({ path, context }: Test) => timings[relative(context.config.rootDir, path)] ?? unknownSeconds;
    const shards = Array.from({ length: shardCount }, () => ({ total: 0, tests: [] as Test[] }));
    for (const test of tests.toSorted((a, b) => seconds(b) - seconds(a) || (a.path < b.path ? -1 : 1))) {
      const shortest = shards.reduce((least, shard) => (shard.total < least.total ? shard : least));
      shortest.tests.push(test);
      shortest.total += seconds(test);
    }
    return shards[shardIndex - 1]!.tests;
  }
}
