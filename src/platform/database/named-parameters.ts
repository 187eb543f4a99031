import { type Declaration, postgresType } from './sql-types.ts';

/** What may hold a colon that begins no parameter is matched first: strings, quoted names, comments, `::` and `:=`. */
const tokens = /'[^']*'|"[^"]*"|--[^\n]*|\/\*[^*]*\*\/|::|:=|:([A-Za-z]\w*)|\$\d+/g;

/**
 * Writes each `:name` as the parameter `$n`, where n is its place in the declaration, with a cast to its declared type.
 * @throws Error when a name is not declared, a declared one is not used, or a parameter is given by its position
 */
export function compileNamed(statement: string, text: string, parameters: Declaration): string {
  const positions = new Map(Object.keys(parameters).map((name, index) => [name, index + 1]));
  const unused = new Set(positions.keys());
  const compiled = text.replace(tokens, (token, name: string | undefined) => {
    if (token.startsWith('$')) throw new Error(`The statement ${statement} has named parameters, and uses ${token}.`);
    if (name === undefined) return token;
    if (!positions.has(name)) throw new Error(`The statement ${statement} does not declare its parameter ${name}.`);
    unused.delete(name);
    return `$${positions.get(name)}::${postgresType(parameters[name]!)}`;
  });
  if (unused.size > 0) throw new Error(`The statement ${statement} does not use ${[...unused].join(', ')}.`);
  return compiled;
}
