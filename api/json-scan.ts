const maxDepth = 64;
const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

// A number in JSON's grammar. One that a double cannot hold would change its value.
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * Checks a JSON text, before it is parsed, for what PostgreSQL or a later `JSON.stringify` cannot handle: nesting deeper
 * than 64, NUL characters, lone surrogates, and numbers beyond a double. Takes linear time. Syntax is left to the parser.
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

/** Whether a JSON text is nested deeper than 64, which a later `JSON.stringify` cannot handle. Takes linear time. */
export function isNestedTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') at = endOfString(text, at);
    else if (char === '{' || char === '[') {
      if (++depth > maxDepth) return true;
    } else if (char === '}' || char === ']') depth--;
  }
  return false;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
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
