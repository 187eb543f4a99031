const replacement = '\ufffd';

/** A text without what PostgreSQL, hashes and providers refuse: NUL and lone surrogates each become U+FFFD. */
export const cleanText = (text: string): string => text.toWellFormed().replaceAll('\0', replacement);

const uncleanEscape = /\\u(?:0000|d[89a-f])/;
const [backslash, letterU, zero, letterD, eight] = [0x5c, 0x75, 0x30, 0x64, 0x38];
const replacementBytes = Buffer.from(replacement);

/** Whether an escape of NUL or of a surrogate begins behind this backslash. */
function isUnclean(json: Buffer, at: number): boolean {
  if (json[at + 1] !== letterU) return false;
  if (json[at + 2] === letterD) return json[at + 3]! >= eight;
  return json[at + 2] === zero && json[at + 3] === zero && json[at + 4] === zero && json[at + 5] === zero;
}

/**
 * The same for JSON as `JSON.stringify` writes it, which escapes the replaced characters. It works on the bytes: a
 * regular expression takes five times as long if everything is replaced.
 */
export function cleanJson(json: string): string {
  if (!uncleanEscape.test(json)) return json;
  const bytes = Buffer.from(json);
  let end = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== backslash) bytes[end++] = bytes[at]!;
    else if (isUnclean(bytes, at)) {
      end += replacementBytes.copy(bytes, end);
      at += '\\u0000'.length - 1;
    } else {
      // The second half of an escaped backslash begins no other escape.
      bytes[end++] = bytes[at]!;
      bytes[end++] = bytes[++at]!;
    }
  }
  return bytes.toString('utf8', 0, end);
}

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
