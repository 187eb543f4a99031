/** Deeper values overflow the stack of a later `JSON.stringify`, or of whatever else walks them. */
export const maxDepth = 64;

export const code = { quote: 0x22, backslash: 0x5c } as const;
export const isOpening = (char: number) => char === 0x7b || char === 0x5b;
export const isClosing = (char: number) => char === 0x7d || char === 0x5d;

/** The index of the quote that ends the string which begins at `start`; the length of a text that has none. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === code.backslash) at++;
    else if (char === code.quote) return at;
  }
  return text.length;
}

/** Whether a JSON text is nested deeper than 64. Takes linear time, and less than parsing it. */
export function isNestedTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === code.quote) at = endOfString(text, at);
    else if (isOpening(char)) {
      if (++depth > maxDepth) return true;
    } else if (isClosing(char)) depth--;
  }
  return false;
}
