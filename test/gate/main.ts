import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { besideBusyLoops, root, runJest } from './jest.ts';
import {
  type FileResult,
  type JestOutput,
  judge,
  readResults,
  refuseSecondLook,
  rerunsPerFile,
  type Verdict,
} from './second-look.ts';
import { type Tier, tiers } from './tiers.ts';
import { readUnstable } from './unstable.ts';

// npm test, npm run test:deep and npm run test:machine: runs Jest, runs each failed file again, and says what that means.

/** Several times what a run takes on a busy machine. A run that does not end by then hangs. */
const maxMinutes = { run: 180, rerun: 10 };

const [tier, ...given] = process.argv.slice(2) as [Tier, ...string[]];
/** Options of this program. Jest gets all others. */
const own = ['--busy', '--record-timings'];
const isGiven = (option: string) => given.includes(option);
const optionValue = (name: string) => given.find((option) => option.startsWith(name))?.slice(name.length);
const at = optionValue('--at=');
const forJest = given.filter((option) => !own.includes(option) && !/^--(at|seed)=/.test(option));

const say = (text: string) => process.stderr.write(`${text}\n`);
const secondsOf = ({ startTime, endTime }: JestOutput['testResults'][number]) => (endTime - startTime) / 1000;

function printSlowest({ testResults }: JestOutput): void {
  const slowest = testResults.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, 10);
  say('\nSlowest files:');
  for (const file of slowest) say(`${secondsOf(file).toFixed(1).padStart(7)} s  ${relative(root, file.name)}`);
}

/** Keeps how long each file took, by which `--shard` divides the files. */
function recordTimings({ testResults }: JestOutput): void {
  const file = new URL('../timings.json', import.meta.url);
  const known = JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>;
  for (const one of testResults) known[relative(root, one.name)] = Math.ceil(secondsOf(one));
  const sorted = Object.fromEntries(Object.entries(known).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(file, `${JSON.stringify(sorted, null, 2)}\n`);
}

/** Runs each failed file again, alone. */
async function lookAgain(failed: FileResult[]): Promise<Map<string, (FileResult | undefined)[]>> {
  const reruns = new Map<string, (FileResult | undefined)[]>();
  for (const { path } of failed) {
    const looks: (FileResult | undefined)[] = [];
    reruns.set(path, looks);
    do {
      say(`\nSecond look ${looks.length + 1} of ${rerunsPerFile}: ${path}`);
      const { status, output } = await runJest(['--runTestsByPath', path, ...tiers[tier]], {
        maxMinutes: maxMinutes.rerun,
        at,
      });
      // A run that passed and did not end, or that Jest itself refused, is not green.
      const look = status === 0 && output ? readResults(output, root).find((file) => file.path === path) : undefined;
      looks.push(look);
    } while (looks.length < rerunsPerFile && looks.at(-1)?.passed);
  }
  return reruns;
}

function printVerdict({ passed, failed, unstable, unstableFiles }: Verdict, reasons: string[]): void {
  for (const { path, message } of unstableFiles) {
    say(`\nUnstable: ${path} failed, and passed ${rerunsPerFile} of ${rerunsPerFile} times alone.`);
    say('Record it in test/unstable.json, and find out whether product or test is wrong. Its first failure:');
    say(message);
  }
  for (const reason of reasons) say(`Red: ${reason}`);
  say(`\nTests: ${passed} passed, ${failed} failed, ${unstable} unstable`);
}

async function runTier(): Promise<number> {
  const seed = Number(optionValue('--seed=') ?? Math.floor(Math.random() * 2 ** 31));
  say(`Seed: ${seed} (npm run ${tier} -- --seed=${seed} repeats this order)`);
  const args = [...forJest, `--seed=${seed}`, ...tiers[tier]];
  const { status, output, hung } = await runJest(args, { maxMinutes: maxMinutes.run, at });
  if (hung) say(`Red: The run did not end within ${maxMinutes.run} minutes.`);
  if (!output) {
    say('Red: Jest wrote no results.\n\nTests: 0 passed, 0 failed, 0 unstable');
    return status || 1;
  }
  if (isGiven('--record-timings')) recordTimings(output);
  printSlowest(output);
  const results = readResults(output, root);
  const refusal = refuseSecondLook(results);
  const reruns = refusal ? new Map() : await lookAgain(results.filter(({ passed }) => !passed));
  const verdict = judge(results, reruns);
  const unexplained = new Set(readUnstable().flatMap(({ file, cause }) => (cause ? [] : [file])));
  const seenBefore = verdict.unstableFiles
    .filter(({ path }) => unexplained.has(path))
    .map(({ path }) => `${path} was unstable before, and test/unstable.json does not say why.`);
  const reasons = [...(refusal ? [refusal] : []), ...verdict.reasons, ...seenBefore];
  // Jest fails for other reasons than a test, too: an obsolete snapshot under `--ci`, a set-up that throws.
  const failedOtherwise = status !== 0 && results.every(({ passed }) => passed);
  if (failedOtherwise) reasons.push(`Jest ended with status ${status}.`);
  printVerdict(verdict, reasons);
  return reasons.length > 0 || hung ? 1 : 0;
}

if (!Object.hasOwn(tiers, tier)) throw new Error(`There is no tier ${tier}.`);
process.exitCode = isGiven('--busy') ? await besideBusyLoops(runTier) : await runTier();
