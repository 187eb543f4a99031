import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { cleanJson } from '../../platform/core/clean-text.ts';
import { isLargerThan } from '../../platform/core/json-size.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';

/**
 * A value in its stored form. The value is parsed from its JSON on first use, and the JSON is written on first use: for
 * an output of megabytes each holds the process for milliseconds.
 */
export class Storable {
  /** Bytes of the JSON. */
  readonly bytes: number;
  #json: string | undefined;
  /** JSON has no `undefined`. */
  #value: unknown;

  private constructor(bytes: number, json: string | undefined, value: unknown) {
    this.bytes = bytes;
    this.#json = json;
    this.#value = value;
  }

  /** @param value where it is known, too */
  static ofJson(json: string, bytes: number, value?: unknown): Storable {
    return new Storable(bytes, json, value);
  }

  static ofValue(value: unknown, bytes: number): Storable {
    return new Storable(bytes, undefined, value ?? null);
  }

  get json(): string {
    this.#json ??= JSON.stringify(this.#value);
    return this.#json;
  }

  get value(): unknown {
    if (this.#value === undefined) this.#value = JSON.parse(this.#json!);
    return this.#value;
  }
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
  return storableJson(JSON.stringify(value ?? null), value ?? null);
}

/** The same for JSON as `JSON.stringify` writes it. @param value where it is known, too */
export function storableJson(json: string, value?: unknown): Storable | undefined {
  const bytes = Buffer.byteLength(json);
  if (bytes > maxOutputBytes) return undefined;
  const replaced = cleanJson(json);
  if (replaced === json) return Storable.ofJson(json, bytes, value);
  return Storable.ofJson(replaced, Buffer.byteLength(replaced));
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
