import { relative, resolve } from 'node:path';
import { besideBusyLoops, root, runJest } from './jest.ts';
import { readResults } from './second-look.ts';
import { tierOf, tiers } from './tiers.ts';

// npm run test:flaky FILE: runs one file twenty times beside busy loops. A file enters `npm test` when it passed each time.

const times = 20;
const maxMinutes = 15;

const [given] = process.argv.slice(2);
if (!given) throw new Error('usage: npm run test:flaky FILE');
const path = resolve(root, given);

const tier = tierOf(relative(root, path));
let passed = 0;
await besideBusyLoops(async () => {
  for (let run = 1; run <= times; run++) {
    const { status, output } = await runJest(['--runTestsByPath', path, ...tiers[tier]], { maxMinutes });
    if (status === 0 && output && readResults(output, root).every((file) => file.passed && file.ran.length > 0))
      passed++;
    process.stderr.write(`${passed} of ${run} runs passed\n`);
  }
});
process.exitCode = passed === times ? 0 : 1;
