import type { CountedUse } from '../platform/database/counted-use.ts';

/** What an answer of a model adds to counters. Credits count by kind and key when they are charged. */
export const messageUse = ({
  kind,
  model,
  keyId,
  tokens,
  credits,
}: {
  kind: string;
  model: string;
  /** The key that sent the message; null where none did. */
  keyId: string | null;
  tokens: number;
  credits: number;
}): CountedUse[] => [
  { by: 'kind', value: kind, tokens },
  { by: 'model', value: model, tokens, credits },
  ...(keyId === null ? [] : [{ by: 'key' as const, value: keyId, tokens }]),
];
