import type { FieldError } from '../platform/errors.ts';
import { languageOf } from './create-transcription.ts';

/** A fetched recording, and the facts about it. */
export interface FetchedTranscription {
  url: string;
  /** Two letters in lower case. */
  language?: string;
  prompt?: string;
}

const maxUrl = 2_048;
const maxPrompt = 1_000;

const isText = (value: unknown, max: number): value is string => typeof value === 'string' && value.length <= max;

function isLanguage(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    return languageOf(value) !== undefined;
  } catch {
    return false;
  }
}

function* problemsIn({ url, language, prompt }: Record<string, unknown>): Generator<FieldError> {
  if (!isText(url, maxUrl) || url.trim() === '') {
    yield { path: 'url', message: `Expected the address of a recording, of at most ${maxUrl} characters.` };
  }
  if (language !== undefined && !isLanguage(language)) yield { path: 'language', message: 'Invalid language' };
  if (prompt !== undefined && !isText(prompt, maxPrompt)) {
    yield { path: 'prompt', message: `Expected a text of at most ${maxPrompt} characters.` };
  }
}

/** What cannot be transcribed, in the order of the fields. */
export const problemsOfTranscription = (payload: Record<string, unknown>): FieldError[] => [...problemsIn(payload)];

/** A payload in which `problemsOfTranscription` found nothing. */
export function readTranscription({ url, language, prompt }: Record<string, unknown>): FetchedTranscription {
  const asked = languageOf(language as string | undefined);
  return {
    url: url as string,
    ...(asked !== undefined && { language: asked }),
    ...(prompt !== undefined && prompt !== '' && { prompt: prompt as string }),
  };
}
