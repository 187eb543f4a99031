/**
 * What the meter's piece of reference takes on the processor for which the table is written, in ms. On a slower one, or
 * one that others use at the same time, everything may take longer in proportion.
 */
export const referenceMs = 4.5;

/** What one input may cost. */
export interface Allowance {
  /** CPU time of the main thread between two runs of its timers, in ms: no other caller is served meanwhile. */
  stretchMs: number;
  /** CPU time of the main thread until the input was dealt with, in ms. */
  cpuMs: number;
  /** What the process still holds when the input was dealt with, in MiB. */
  heldMb: number;
  /** The most that it held meanwhile, garbage included, in MiB. */
  peakMb: number;
  /** Rows that the input added to any tables. */
  rows: number;
  /** Bytes of an answer in JSON or YAML, after it was decompressed. */
  answerBytes: number;
}

/** The contract's 50 ms, and a fifth more: other work on the machine is in the measurement too. */
const maxStretchMs = 60;

/** The allowance of every input without an entry in the table. */
const usual: Allowance = {
  stretchMs: maxStretchMs,
  cpuMs: 150,
  heldMb: 8,
  peakMb: 160,
  rows: 25,
  answerBytes: 2 * 1024 ** 2,
};

interface Exception extends Partial<Allowance> {
  /** Matches `door: input`. */
  of: RegExp;
  /** Why this may cost more than other inputs. */
  why: string;
}

/** The first line that fits counts. A line is added only with a reason that a limit of the contract gives. */
const exceptions: readonly Exception[] = [
  {
    of: /: sent ahead and unread$/,
    why: 'Sixteen requests of a connection are under way, and 64 KiB have more than a thousand. Each takes less than a millisecond.',
    cpuMs: 1_000,
  },
  {
    of: /: forty unread$/,
    why: 'Each is a list of up to 10,000 times; answers that wait for an organization have 64 MiB.',
    stretchMs: 150,
    cpuMs: 5_000,
    heldMb: 64,
    peakMb: 400,
  },
  {
    of: /: a hundred bodies without an end$/,
    why: 'What an organization, or all callers without a key, may have waiting.',
    cpuMs: 1_000,
    heldMb: 64,
    peakMb: 300,
  },
  {
    of: /: 1,000 signed events( for costly filters)?$/,
    why: 'Each event has a row, and a request creates 1,000 deliveries at once, or a row for each event that filters look at. They are a thousand messages.',
    stretchMs: 150,
    cpuMs: 1_500,
    rows: 5_000,
  },
  {
    of: /: 1,000 items with all that they may have$/,
    why: 'Each item has a run, a claim of its key, and ten tags of a row each.',
    cpuMs: 1_500,
    rows: 15_000,
  },
  {
    of: /: six runs of prompts that repeat a large input$/,
    why: 'They have 24 prompts and answers of 2 MB, each rendered, hashed, written as JSON and stored.',
    cpuMs: 4_000,
    heldMb: 64,
    peakMb: 400,
    rows: 200,
  },
  {
    of: /: the most calls of tools$/,
    why: 'A message calls tools 40 times; each call has a row and an entry in the audit log.',
    cpuMs: 500,
    rows: 150,
  },
  {
    of: / to a step: (a body of the most shapes|a thousand calls of tools)$/,
    why: 'An answer that no provider gives is asked for three times again, and parsed each time.',
    cpuMs: 300,
  },
  {
    of: /^an answer of microsoft-teams: the most replies that were missed/,
    why: 'A page of a list has up to 1,000 events, with a row each. They come in up to 20 answers of megabytes.',
    cpuMs: 1_000,
    rows: 1_100,
  },
  {
    of: /^a stream of /,
    why: 'A stream has 20,000 events, each a message of its own.',
    cpuMs: 2_000,
  },
];

/** The one table of what an input may cost. */
export function allowanceOf(name: string): Allowance {
  const found = exceptions.find(({ of }) => of.test(name));
  if (!found) return usual;
  const { of: _, why: __, ...own } = found;
  return Object.assign({}, usual, own);
}
