/** Where each value stands in a JSON text: the line of its beginning, by its dotted path. The text may be broken. */
export function linesOf(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  let at = 0;
  let line = 1;
  const skip = () => {
    for (; at < text.length && ' \t\r\n'.includes(text[at]!); at++) if (text[at] === '\n') line++;
  };
  /** @returns the content of the string that begins here */
  const string = (): string => {
    const start = at++;
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    at++;
    try {
      return JSON.parse(text.slice(start, at)) as string;
    } catch {
      return '';
    }
  };
  const value = (path: string) => {
    skip();
    lines.set(path, line);
    const below = (name: string | number) => (path === '' ? String(name) : `${path}.${name}`);
    const first = text[at];
    if (first === '"') string();
    else if (first === '{' || first === '[') {
      const close = first === '{' ? '}' : ']';
      at++;
      for (let index = 0; at < text.length; index++) {
        skip();
        if (text[at] === close) break;
        let name: string | number = index;
        if (first === '{') {
          if (text[at] !== '"') return;
          name = string();
          skip();
          if (text[at] !== ':') return;
          at++;
        }
        const before = at;
        value(below(name));
        skip();
        if (text[at] === ',') at++;
        else if (at === before) return;
      }
      at++;
    } else while (at < text.length && !',]} \t\r\n'.includes(text[at]!)) at++;
  };
  value('');
  return lines;
}

/** @returns the line of a path, or of the nearest value around it that the text has */
export function lineOf(lines: ReadonlyMap<string, number>, path: string): number {
  for (let parts = path.split('.'); parts.length > 0; parts = parts.slice(0, -1)) {
    const line = lines.get(parts.join('.'));
    if (line !== undefined) return line;
  }
  return 1;
}
