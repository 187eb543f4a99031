import { randomUUIDv7 } from 'node:crypto';

/** The prefixes of public ids. A prefixed id is the prefix plus the 32 hex digits of a UUIDv7: a pure function of it. */
export const idPrefixes = {
  workflow: 'wf',
  run: 'run',
  organization: 'org',
  apiKey: 'key',
  webhook: 'whk',
  event: 'evt',
  delivery: 'dlv',
} as const;

export type IdKind = keyof typeof idPrefixes;

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const hexPattern = /^[0-9a-f]{32}$/;

/** A new id: UUIDv7, so that ids sort by time of creation. */
export const newId = (): string => randomUUIDv7();

/** `prefixed('workflow', '0199…')` is `wf_0199…`. */
export const prefixed = (kind: IdKind, uuid: string): string => `${idPrefixes[kind]}_${uuid.replaceAll('-', '')}`;

/** Whether a text begins as a prefixed id of this kind does; says nothing about the rest of it. */
export const hasPrefix = (kind: IdKind, text: string): boolean => text.startsWith(`${idPrefixes[kind]}_`);

/**
 * Reads an id given as a uuid or in its prefixed form.
 * @returns the canonical uuid, or undefined when the text is neither: the caller answers as for an unknown id.
 */
export function parseId(kind: IdKind, text: string): string | undefined {
  if (uuidPattern.test(text)) return text.toLowerCase();
  if (!hasPrefix(kind, text)) return undefined;
  const hex = text.slice(idPrefixes[kind].length + 1);
  if (!hexPattern.test(hex)) return undefined;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
