const replacement = '\ufffd';

/** A text without what PostgreSQL, hashes and providers refuse: NUL and lone surrogates each become U+FFFD. */
export const cleanText = (text: string): string => text.toWellFormed().replaceAll('\0', replacement);

// Matches whole escapes, so that the second half of an escaped backslash does not start another one.
const escapes = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;
const uncleanEscape = /\\u(?:0000|d[89a-f])/;

/** The same for JSON as `JSON.stringify` writes it, which escapes what is replaced here. */
export const cleanJson = (json: string): string =>
  uncleanEscape.test(json) ? json.replace(escapes, (one) => (one.length === 6 ? replacement : one)) : json;

/** The same for all texts of a value, names of members included. */
export function cleaned<Value>(value: Value): Value {
  const json = JSON.stringify(value);
  if (json === undefined || !uncleanEscape.test(json)) return value;
  return JSON.parse(cleanJson(json));
}

/** Cleans a text that arrives in parts: a character may be cut in two. */
export class CleanedStream {
  #half = '';

  /** @returns what is complete; the first half of a character waits for the next part */
  add(part: string): string {
    const text = this.#half + part;
    const last = text.charCodeAt(text.length - 1);
    const isCut = last >= 0xd800 && last <= 0xdbff;
    this.#half = isCut ? text.slice(-1) : '';
    return cleanText(isCut ? text.slice(0, -1) : text);
  }

  /** @returns what is left */
  end(): string {
    const rest = cleanText(this.#half);
    this.#half = '';
    return rest;
  }
}
