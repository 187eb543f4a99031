import { relative } from 'node:path';

/** The members of Jest's `--json` output that are read here. */
export interface JestOutput {
  testResults: {
    name: string;
    status: string;
    message: string;
    /** Unix times in milliseconds. */
    startTime: number;
    endTime: number;
    assertionResults: { fullName: string; status: string }[];
  }[];
}

/** What Jest reported of one test file. */
export interface FileResult {
  /** Relative to the root of the project. */
  path: string;
  passed: boolean;
  /** Full names of the tests that ran. */
  ran: string[];
  /** Full names of the tests that failed. */
  failed: string[];
  /** Everything that Jest printed about the failures. */
  message: string;
}

/** The result of a whole command. Its counts are of tests. */
export interface Verdict {
  passed: number;
  failed: number;
  unstable: number;
  /** Files that failed once, and passed each time when they ran alone. */
  unstableFiles: FileResult[];
  /** Why the run is red, a sentence each. A green run has none. */
  reasons: string[];
}

/** A fault that shows half of the time would pass one rerun half of the time. */
export const rerunsPerFile = 3;

const maxFailedFiles = 10;
const maxUnstableFiles = 5;

/** The words of Jest for a worker that did not survive its file: a signal, too little memory, an exit of its own. */
const deadWorker = /jest worker .*(?:was terminated|crashed|child process exceptions)/i;

export function readResults({ testResults }: JestOutput, root: string): FileResult[] {
  return testResults.map(({ name, status, message, assertionResults }) => {
    const namesOf = (...statuses: string[]) =>
      assertionResults.filter((one) => statuses.includes(one.status)).map(({ fullName }) => fullName);
    return {
      path: relative(root, name),
      passed: status !== 'failed',
      ran: namesOf('passed', 'failed'),
      failed: namesOf('failed'),
      message,
    };
  });
}

/** @returns why the failed files of a run are not run again, or nothing if they are */
export function refuseSecondLook(results: FileResult[]): string | undefined {
  const failed = results.filter(({ passed }) => !passed);
  if (failed.some(({ message }) => deadWorker.test(message))) return 'A worker died.';
  if (failed.length > maxFailedFiles) return `${failed.length} files failed, more than ${maxFailedFiles}.`;
  return undefined;
}

/** A rerun counts only if it ran every test that ran before, and at least one. */
function passedAgain(first: FileResult, rerun: FileResult | undefined): boolean {
  if (!rerun?.passed || rerun.ran.length === 0) return false;
  return first.ran.every((name) => rerun.ran.includes(name));
}

/**
 * What a run means (`docs/development.md`, "The second look").
 * @param reruns - what each rerun of a failed file reported, by path; `undefined` where Jest reported nothing
 */
export function judge(results: FileResult[], reruns: ReadonlyMap<string, (FileResult | undefined)[]>): Verdict {
  const failedFiles = results.filter(({ passed }) => !passed);
  const unstableFiles = failedFiles.filter((file) => {
    const looks = reruns.get(file.path) ?? [];
    return looks.length === rerunsPerFile && looks.every((look) => passedAgain(file, look));
  });
  const faultyFiles = failedFiles.filter((file) => !unstableFiles.includes(file));
  const sum = (files: FileResult[], count: (file: FileResult) => number) =>
    files.reduce((total, file) => total + count(file), 0);
  // A file can fail without a failed test: one that does not load, or whose `afterAll` fails.
  const failures = (file: FileResult) => Math.max(1, file.failed.length);
  const reasons = faultyFiles.map(({ path }) => `${path} failed.`);
  if (unstableFiles.length > maxUnstableFiles) {
    reasons.push(`${unstableFiles.length} files are unstable, more than ${maxUnstableFiles}.`);
  }
  if (sum(results, ({ ran }) => ran.length) === 0) reasons.push('No test ran.');
  return {
    passed: sum(results, ({ ran, failed }) => ran.length - failed.length),
    failed: sum(faultyFiles, failures),
    unstable: sum(unstableFiles, failures),
    unstableFiles,
    reasons,
  };
}
