import { withoutEnd } from '../../platform/core/without-end.ts';

/**
 * A word in a text that makes the sandbox fail or wait, so that integrators can test their error handling:
 * `sandbox:fail`, with a number as in `sandbox:slow=2.5`, or with the name of a model as in `sandbox:fail@flux-dev`.
 */
interface SandboxWord {
  name: string;
  /** As it is written. Undefined without `=`. */
  number: string | undefined;
  /** Undefined without `@`. */
  model: string | undefined;
}

const pattern = /\bsandbox:(\w{1,40})(?!\w)(?:=([\d.]{1,20})|@([\w./:-]{0,200}))?/g;

/** More than anybody tests with. A megabyte of words would hold the process for as long as 20 ms. */
const maxWords = 1_000;

/** The first words of a text, in order. Most texts have none, and are long: they are looked through once. */
export function findSandboxWords(text: string): SandboxWord[] {
  if (!text.includes('sandbox:')) return [];
  const found: SandboxWord[] = [];
  for (const [, name, number, model] of text.matchAll(pattern)) {
    if (found.push({ name: name!, number, model }) === maxWords) break;
  }
  return found;
}

/**
 * The text of a JSON value that is searched for words. The words of every string count: a word may begin anywhere in
 * it, also after the escape of a line's end.
 */
export const textOfJson = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll(/\\(?:u[\da-f]{4}|.)/g, ' ')
    .replaceAll('sandbox:', ' sandbox:');

/** The number that begins the text of a word, if it has one. @param form at the beginning */
const numberIn = ({ number = '' }: SandboxWord, form: RegExp): number | undefined => {
  const [found] = form.exec(number) ?? [];
  return found === undefined ? undefined : Number(found);
};

const secondsPattern = /^\d{1,4}(?:\.\d{1,3})?/;
const wholePattern = /^\d{1,5}(?!\d)/;

/** The seconds of `sandbox:slow=SECONDS`; 0 without it. */
export const slowSecondsOf = (words: readonly SandboxWord[]): number =>
  words.filter(({ name }) => name === 'slow').flatMap((word) => numberIn(word, secondsPattern) ?? [])[0] ?? 0;

/** The name of `sandbox:hold=NAME`, which has digits: work waits until a test releases it (`platform/parts/holds.ts`). */
export const holdOf = (words: readonly SandboxWord[]): string | undefined =>
  words.find(({ name }) => name === 'hold')?.number;

/** The whole number of a word, of at most five digits. */
export const wholeNumberOf = (word: SandboxWord): number | undefined => numberIn(word, wholePattern);

/** The attempt at which an overloaded sandbox succeeds. */
const overloadedUntilAttempt = 3;

/** Whether an overloaded sandbox still refuses at this attempt, counted from 1. */
export const isStillOverloaded = ({ overloaded }: { overloaded: boolean }, attempt: number): boolean =>
  overloaded && attempt < overloadedUntilAttempt;

/** The requests of a text to a model of the sandbox. */
export interface SandboxWords {
  /** Zero without `sandbox:slow`. */
  slowSeconds: number;
  /** The name of a hold. */
  hold: string | undefined;
  overloaded: boolean;
  /** `fail_model` is `sandbox:fail@<model>` with the name of the requested model. */
  failure: 'fail' | 'refuse' | 'timeout' | 'fail_model' | undefined;
  /** Whether some model, this one or another, is named to fail. */
  namesModel: boolean;
}

/** Whether a text model of the sandbox answers without taking time, and without a failure that leads to a retry or a fallback. */
export const isAnsweredInstantly = ({ slowSeconds, hold, overloaded, namesModel }: SandboxWords): boolean =>
  slowSeconds === 0 && hold === undefined && !overloaded && !namesModel;

/** @param model the published name of the model that the text is for */
export function readSandboxWords(text: string, model: string): SandboxWords {
  const words = findSandboxWords(text);
  const has = (wanted: string) => words.some((word) => word.name === wanted);
  const failures = words.filter(({ name }) => name === 'fail');
  // A name may end a sentence, so punctuation after it is not part of it.
  const failsModel = failures.some((word) => word.model !== undefined && withoutEnd(word.model, '.:') === model);
  const failsAll = failures.some((word) => word.model === undefined);
  const asked = (['refuse', 'timeout'] as const).find(has);
  return {
    slowSeconds: slowSecondsOf(words),
    hold: holdOf(words),
    overloaded: has('overloaded'),
    failure: failsAll ? 'fail' : (asked ?? (failsModel ? 'fail_model' : undefined)),
    namesModel: failures.some((word) => word.model !== undefined),
  };
}
