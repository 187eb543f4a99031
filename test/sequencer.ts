import type { Test } from '@jest/reporters';
import sequencer from '@jest/test-sequencer';

/** Its types are those of its CommonJS build; what Node imports is the class itself. */
const JestSequencer = sequencer as unknown as typeof sequencer.default;

/** For a file that never ran here before; what is known of the last run counts more. */
const expectedMs: Record<string, number> = { crash: 60_000, product: 20_000 };

/**
 * Longest first, so that no long file is left to run alone at the end. Files that mostly wait for others to notice a
 * death alternate with files that mostly compute: the processors always have something to do.
 */
export default class Sequencer extends JestSequencer {
  override sort(tests: Test[]): Test[] {
    const projectOf = ({ context }: Test) => context.config.displayName?.name ?? '';
    const expected = (test: Test) => test.duration ?? expectedMs[projectOf(test)] ?? 1_000;
    // Jest's own order writes down what each took the last time.
    const sortedByLength = (super.sort(tests) as Test[]).toSorted(
      (a, b) => expected(b) - expected(a) || a.path.localeCompare(b.path),
    );
    const { true: waiting = [], false: computing = [] } = Object.groupBy(
      sortedByLength,
      (test) => String(projectOf(test) === 'crash') as 'true' | 'false',
    );
    return Array.from({ length: Math.max(waiting.length, computing.length) }).flatMap((_, index) =>
      [waiting[index], computing[index]].filter((test) => test !== undefined),
    );
  }
}
