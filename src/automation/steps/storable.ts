import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { cleanJson } from '../../platform/core/clean-text.ts';
import { isLargerThan } from '../../platform/core/json-size.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';

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
  // A short value can have a large one in it many times.
  if (isLargerThan(value ?? null, maxOutputBytes)) return undefined;
  const json = JSON.stringify(value ?? null);
  const bytes = Buffer.byteLength(json);
  if (bytes > maxOutputBytes) return undefined;
  const replaced = cleanJson(json);
  if (replaced === json) return { value: value ?? null, json, bytes };
  return { value: JSON.parse(replaced), json: replaced, bytes: Buffer.byteLength(replaced) };
}

/** A text of so many characters is large: writing it as JSON takes milliseconds. */
const largeText = 64 * 1024;

/** The same as `storable`. Large texts, which prompts and models make, are handled one after another on the main thread. */
export async function storableWithoutBlocking(
  work: BoundedWork,
  key: TenantKey,
  value: unknown,
): Promise<Storable | undefined> {
  const isLarge = typeof value === 'string' && value.length > largeText;
  return isLarge ? work.inMainThread(key, () => storable(value)) : storable(value);
}
