const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

// A number in JSON's grammar. A number that a double cannot hold would change its value.
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** So many digits without an exponent are never beyond a double. */
const harmlessDigits = 300;

const [quote, backslash] = [0x22, 0x5c];
const [minus, dot, upperE, lowerE] = [0x2d, 0x2e, 0x45, 0x65];
const isDigit = (char: number) => char >= 0x30 && char <= 0x39;

/**
 * Checks a JSON text for what PostgreSQL or a later `JSON.stringify` cannot handle: NUL characters, lone surrogates, and
 * numbers beyond a double. Takes linear time. Syntax is left to the parser.
 * @returns a sentence about the first problem, or undefined
 */
export function scanJson(text: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) {
      const end = endOfString(text, at);
      const problem = scanString(text.slice(at, end + 1));
      if (problem) return problem;
      at = end;
    } else if (char === minus || isDigit(char)) {
      const end = endOfNumber(text, at);
      if (end === undefined) return 'A number in the body is out of range.';
      at = end;
    }
  }
  return undefined;
}

/** The index of the quote that ends the string which begins at `start`; the length of a text that has none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === backslash) at++;
    else if (char === quote) return at;
  }
  return text.length;
}

/** The index of its last character; undefined if a double cannot hold it. */
function endOfNumber(text: string, start: number): number | undefined {
  let at = start;
  let next = text.charCodeAt(at + 1);
  for (; isDigit(next) || next === dot; next = text.charCodeAt(at + 1)) at++;
  // A body may consist of numbers, and most are short and have no exponent.
  if (at - start < harmlessDigits && next !== upperE && next !== lowerE) return at;
  number.lastIndex = start;
  const found = number.exec(text)?.[0];
  if (!found) return at;
  return Number.isFinite(Number(found)) ? start + found.length - 1 : undefined;
}

/** `quoted` includes its quotes. Strings with invalid syntax are reported by the parser. */
function scanString(quoted: string): string | undefined {
  if (!quoted.includes('\\u') && !loneSurrogate.test(quoted) && !quoted.includes('\0')) return undefined;
  let value: string;
  try {
    value = JSON.parse(quoted);
  } catch {
    return undefined;
  }
  if (value.includes('\0')) return 'The body contains the character NUL.';
  return loneSurrogate.test(value) ? 'The body contains a lone surrogate.' : undefined;
}
