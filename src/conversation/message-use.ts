import type { CountedUse } from '../platform/database/counted-use.ts';

/** What an answer of a model adds to counters. Credits count by kind when they are charged. */
export const messageUse = ({
  kind,
  model,
  tokens,
  credits,
}: {
  kind: string;
  model: string;
  tokens: number;
  credits: number;
}): CountedUse[] => [
  { by: 'kind', value: kind, tokens },
  { by: 'model', value: model, tokens, credits },
];
