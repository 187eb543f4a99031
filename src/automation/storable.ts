import { cleanJson } from '../platform/core/clean-text.ts';

/** A value as it is stored and read back. */
export interface Storable {
  value: unknown;
  /** Made once: for an output of megabytes it holds the process for milliseconds each time. */
  json: string;
  /** Bytes of the JSON. */
  bytes: number;
}

/** Bytes of one output as JSON. */
export const maxOutputBytes = 4 * 1024 * 1024;

/**
 * PostgreSQL stores neither NUL nor lone surrogates, which models can return: each becomes U+FFFD.
 * @returns undefined for a value that is larger than an output may be
 */
export function storable(value: unknown): Storable | undefined {
  const json = JSON.stringify(value ?? null);
  const bytes = Buffer.byteLength(json);
  if (bytes > maxOutputBytes) return undefined;
  const replaced = cleanJson(json);
  if (replaced === json) return { value: value ?? null, json, bytes };
  return { value: JSON.parse(replaced), json: replaced, bytes: Buffer.byteLength(replaced) };
}
