/** What SQLite's tokenizer passes over as one piece: texts, names in quotes, and comments. */
const piece = /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/y;

/** The words that may surround semicolons within one statement: the body of a trigger. */
const trigger = /^\s*create\s+(temp\s+|temporary\s+)?trigger\b/i;

/**
 * Whether a text is one statement of SQLite: preparing it takes the first and leaves the rest unsaid. Triggers, whose bodies
 * have semicolons, end with `end`.
 */
export function isOneStatement(sql: string): boolean {
  let rest = '';
  for (let at = 0; at < sql.length; ) {
    piece.lastIndex = at;
    const found = piece.exec(sql)?.[0];
    const isComment = found?.startsWith('--') || found?.startsWith('/*');
    rest += found === undefined ? sql[at] : isComment ? ' ' : 'x';
    at += found?.length ?? 1;
  }
  // This runs in the process of a tool server, which can read only this folder of the product.
  let end = rest.length;
  while (end > 0 && /[\s;]/.test(rest[end - 1]!)) end--;
  const trimmed = rest.slice(0, end);
  if (trimmed.trim() === '') return false;
  if (trigger.test(trimmed)) return /;\s*end$/i.test(trimmed) && !/;\s*end\s*;/i.test(trimmed);
  return !trimmed.includes(';');
}
