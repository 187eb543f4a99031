import { root, runJest } from './jest.ts';
import { readResults } from './second-look.ts';
import { tiers } from './tiers.ts';

// npm run test:clock: runs the tests next to the code at moments of a year at which calendars and clocks do something.

/** In UTC. Each is half a minute before the event, so that the tests run across it. */
const moments = {
  'the end of January, after which a month has fewer days': '2027-01-31 23:59:30',
  'the end of February': '2027-02-28 23:59:30',
  'summer time begins in New York': '2027-03-14 06:59:30',
  'summer time begins in Berlin': '2027-03-28 00:59:30',
  'the end of a month of 30 days': '2027-04-30 23:59:30',
  'a new day in Auckland': '2027-06-30 11:59:30',
  midday: '2027-08-15 11:59:30',
  'summer time ends in Berlin': '2027-10-31 00:59:30',
  'summer time ends in New York': '2027-11-07 05:59:30',
  'the end of a year': '2027-12-31 23:59:30',
  'the leap day begins': '2028-02-28 23:59:30',
  'the leap day ends': '2028-02-29 23:59:30',
};

/**
 * These compare the clock with the times of files, which the kernel sets. To a moved clock, a new work folder looks months old,
 * and is removed.
 */
const withTimesOfFiles = [
  'src/platform/work-folder',
  'src/storage/disks',
  'src/providers/media/',
  'src/providers/speech/',
];

const failed: string[] = [];
for (const [what, at] of Object.entries(moments)) {
  process.stderr.write(`\n${at}: ${what}\n`);
  const args = ['--testPathIgnorePatterns', ...withTimesOfFiles, ...tiers['test:fast']];
  const { status, output } = await runJest(args, { maxMinutes: 30, at });
  const files = output ? readResults(output, root).filter(({ passed }) => !passed) : [];
  if (status !== 0) failed.push(`${at} (${what}): ${files.map(({ path }) => path).join(', ') || 'no results'}`);
}
process.stderr.write(
  `\n${Object.keys(moments).length - failed.length} of ${Object.keys(moments).length} moments passed\n`,
);
for (const line of failed) process.stderr.write(`Failed at ${line}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;
