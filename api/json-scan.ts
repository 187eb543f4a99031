const maxDepth = 64;
const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

// JSON's own grammar of a number; one whose value JavaScript cannot hold would come back as something else.
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * Looks for what PostgreSQL or a later `JSON.stringify` would choke on, before anything is built from the text: nesting
 * deeper than 64, the NUL character, lone surrogates, numbers beyond a double. Linear in the text; grammar is left to
 * the parser.
 * @returns a sentence about the first problem, or undefined
 */
export function scanJson(text: string): string | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') {
      const end = endOfString(text, at);
      const problem = scanString(text.slice(at, end + 1));
      if (problem) return problem;
      at = end;
    } else if (char === '{' || char === '[') {
      if (++depth > maxDepth) return `The body is nested deeper than ${maxDepth} levels.`;
    } else if (char === '}' || char === ']') {
      depth--;
    } else if (char === '-' || (char >= '0' && char <= '9')) {
      number.lastIndex = at;
      const found = number.exec(text)?.[0];
      if (!found) continue;
      if (!Number.isFinite(Number(found))) return 'A number in the body is out of range.';
      at += found.length - 1;
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

/** `quoted` includes its quotes; one that JSON.parse refuses is the parser's to report. */
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
