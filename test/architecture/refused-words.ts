import type { SourceFile } from './source-graph.ts';
import { nodesOf } from './syntax-tree.ts';

/** Words that say nothing about a thing, or mean several things. The glossary names the word to use for each thing. */
const refusedWords = [
  'turn',
  'bell',
  'heard',
  'tell',
  'told',
  'parking',
  'rescue',
  'somebody',
  'nobody',
  'whoever',
] as const;
const refused = new Set<string>(refusedWords);

/** Names that cannot change, with the reason. */
const published: Record<string, string> = {
  takeTurn: 'a workflow type in Temporal histories',
  recordTurnCancelled: 'an activity in Temporal histories',
  mostMs: 'an argument in Temporal histories of makeGeneration',
  longestPauseMs: 'an argument in Temporal histories of fetchEvents',
};

const wordsOf = (name: string): string[] =>
  name.split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/).map((word) => word.toLowerCase());

/** Whether a name has a refused word, or says `most`, `longest` or `AtOnce` where a maximum is meant. */
export function isRefused(name: string): boolean {
  if (name in published) return false;
  const words = wordsOf(name);
  return words.some((word) => refused.has(word)) || /^(most|longest)$/.test(words[0]!) || /atonce$/i.test(name);
}

/** Cheap: most files need no parser. Comments that stand alone are left out, what remains may be a text. */
const mayBeRefused = (text: string): boolean => {
  const code = text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  return [...new Set(code.match(/[A-Za-z_$][\w$]*/g))].some(isRefused);
};

/** Identifiers with words that the glossary refuses, as `path:line: name`. */
export function refusedNames(files: readonly Pick<SourceFile, 'path' | 'text'>[]): string[] {
  return files
    .filter(({ text }) => mayBeRefused(text))
    .flatMap((file) =>
      [...nodesOf(file)]
        .filter(({ type, name }) => type === 'Identifier' && isRefused(name as string))
        .map(({ loc, name }) => `${file.path}:${loc.start.line}: ${name}`),
    );
}

/**
 * Comments that begin with "Of", as `path:line`: they say whose value it is and leave out what it is.
 */
export const commentsThatBeginWithOf = (files: readonly Pick<SourceFile, 'path' | 'text'>[]): string[] =>
  files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => (/(\/\*\*|\/\/|^\s*\*) Of\b/.test(line) ? [`${path}:${index + 1}`] : [])),
  );
