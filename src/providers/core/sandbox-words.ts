import { withoutEnd } from '../../platform/core/without-end.ts';

/** Words in a text that make the sandbox fail or wait, so that integrators can test their error handling. */
const words = {
  fail: /\bsandbox:fail\b(?!@)/,
  failOf: /\bsandbox:fail@([\w./:-]{1,200})/g,
  refuse: /\bsandbox:refuse\b/,
  timeout: /\bsandbox:timeout\b/,
  overloaded: /\bsandbox:overloaded\b/,
  slow: /\bsandbox:slow=(\d{1,4}(?:\.\d{1,3})?)/,
};

/** The attempt at which an overloaded sandbox succeeds. */
const overloadedUntilAttempt = 3;

/** What the words of a text ask of the sandbox. */
export interface SandboxWords {
  /** Zero without `sandbox:slow`. */
  slowSeconds: number;
  overloaded: boolean;
  /** `fail_model` is `sandbox:fail@<model>` with the name of the model that was asked. */
  failure: 'fail' | 'refuse' | 'timeout' | 'fail_model' | undefined;
  /** Whether some model, this one or another, is named to fail. */
  namesModel: boolean;
}

/** Whether a text lets this model fail. A name may end a sentence, so punctuation after it is not part of it. */
const isNamed = (text: string, model: string): boolean =>
  [...text.matchAll(words.failOf)].some(([, name]) => withoutEnd(name!, '.:') === model);

function failureIn(text: string, model: string): SandboxWords['failure'] {
  if (words.fail.test(text)) return 'fail';
  if (words.refuse.test(text)) return 'refuse';
  if (words.timeout.test(text)) return 'timeout';
  return isNamed(text, model) ? 'fail_model' : undefined;
}

const wordsIn = (text: string, model: string): SandboxWords => ({
  slowSeconds: Number(words.slow.exec(text)?.[1] ?? 0),
  overloaded: words.overloaded.test(text),
  failure: failureIn(text, model),
  namesModel: text.includes('sandbox:fail@'),
});

/** Most texts have none, and are long: they are looked through once. */
const none: SandboxWords = { slowSeconds: 0, overloaded: false, failure: undefined, namesModel: false };

/** @param model the published name of the model that the text is for */
export const readSandboxWords = (text: string, model: string): SandboxWords =>
  text.includes('sandbox:') ? wordsIn(text, model) : none;

/** Whether an overloaded sandbox still refuses at this attempt, counted from 1. */
export const isStillOverloaded = ({ overloaded }: SandboxWords, attempt: number): boolean =>
  overloaded && attempt < overloadedUntilAttempt;
