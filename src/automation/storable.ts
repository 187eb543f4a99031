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

// Matches whole escapes, so that the second half of an escaped backslash does not start another one.
const escapes = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;
const unstorable = /\\u(?:0000|d[89a-f])/;

/**
 * PostgreSQL stores neither NUL nor lone surrogates, which models can return: each becomes U+FFFD.
 * @returns undefined for a value that is larger than an output may be
 */
export function storable(value: unknown): Storable | undefined {
  const json = JSON.stringify(value ?? null);
  const bytes = Buffer.byteLength(json);
  if (bytes > maxOutputBytes) return undefined;
  if (!unstorable.test(json)) return { value: value ?? null, json, bytes };
  const replaced = json.replace(escapes, (one) => (one.length === 6 ? '\ufffd' : one));
  return { value: JSON.parse(replaced), json: replaced, bytes: Buffer.byteLength(replaced) };
}
