/**
 * A text without these characters at its end. An expression such as `/-+$/` takes time that grows with the square of a text
 * that has many of them elsewhere.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}
