import { relative } from 'node:path';
import type { AggregatedResult, Reporter, TestContext } from '@jest/reporters';

/** Prints how long each test file took, slowest first. */
export default class FileTimes implements Reporter {
  onRunComplete(_: Set<TestContext>, { testResults }: AggregatedResult): void {
    const seconds = ({ perfStats }: (typeof testResults)[number]) => (perfStats.end - perfStats.start) / 1000;
    const slowestFirst = testResults.toSorted((a, b) => seconds(b) - seconds(a));
    const lines = slowestFirst.map(
      (file) => `${seconds(file).toFixed(1).padStart(7)} s  ${relative(process.cwd(), file.testFilePath)}`,
    );
    process.stderr.write(`\nTime of each file, slowest first:\n${lines.join('\n')}\n`);
  }
}
