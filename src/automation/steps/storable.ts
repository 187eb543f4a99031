import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { cleanJson } from '../../platform/core/clean-text.ts';
import { isLargerThan } from '../../platform/core/json-size.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';

/**
 * A value in its stored form: its bytes, its JSON and the value, each made of another on first use, because for an output of
 * megabytes each holds the process for milliseconds.
 */
export class Storable {
  /** Bytes of the JSON. */
  readonly bytes: number;
  #content: Buffer | undefined;
  #json: string | undefined;
  /** JSON has no `undefined`. */
  #value: unknown;

  private constructor(bytes: number, content: Buffer | undefined, json: string | undefined, value: unknown) {
    this.bytes = bytes;
    this.#content = content;
    this.#json = json;
    this.#value = value;
  }

  /** @param value where it is known, too */
  static ofJson(json: string, bytes: number, value?: unknown): Storable {
    return new Storable(bytes, undefined, json, value);
  }

  /** @param content JSON that is stored as it is */
  static ofContent(content: Buffer): Storable {
    return new Storable(content.length, content, undefined, undefined);
  }

  static ofValue(value: unknown, bytes: number): Storable {
    return new Storable(bytes, undefined, undefined, value ?? null);
  }

  /** The JSON as a file has it. */
  get content(): Buffer {
    return this.#content ?? Buffer.from(this.json);
  }

  get json(): string {
    if (this.#json === undefined) {
      this.#json = this.#content ? this.#content.toString() : JSON.stringify(this.#value);
      // It is stored before it is read: from then on one form is enough.
      this.#content = undefined;
    }
    return this.#json;
  }

  get value(): unknown {
    if (this.#value === undefined) this.#value = JSON.parse(this.json);
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

/** The same for its bytes. One that need not be changed is not read as a text. */
export function storableContent(content: Buffer): Storable | undefined {
  if (content.length > maxOutputBytes) return undefined;
  return content.includes('\\u') ? storableJson(content.toString()) : Storable.ofContent(content);
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
