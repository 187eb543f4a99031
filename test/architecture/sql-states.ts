/** A column that holds states, and what they are. */
export interface StoredStates {
  table: string;
  column: string;
  states: readonly string[];
  canMove(from: string, to: string): boolean;
}

/** One query: what stands between a pair of parentheses, with inner queries replaced by `()`. */
interface Query {
  text: string;
  /** The table or CTE of each alias, and of each table's own name. */
  sources: Map<string, string>;
}

const keywords = /^(?:where|on|set|join|cross|left|inner|order|group|limit|for|union|values|select|returning|using)$/i;

/** Splits a statement into its queries. Parentheses of lists and functions stay in the query that they belong to. */
function queriesOf(sql: string): Query[] {
  const queries: Query[] = [];
  const stack: { text: string; isQuery: boolean }[] = [{ text: '', isQuery: true }];
  const tokens = sql.match(/'(?:[^']|'')*'|"[^"]*"|--[^\n]*|[()]|[^()'"-]+|-/g) ?? [];
  for (const [index, token] of tokens.entries()) {
    if (token === '(') {
      const isQuery = /^\s*(?:select|insert|update|delete|with)\b/i.test(tokens[index + 1] ?? '');
      stack.push({ text: '', isQuery });
    } else if (token === ')') {
      const { text, isQuery } = stack.pop()!;
      if (isQuery) queries.push({ text, sources: new Map() });
      stack.at(-1)!.text += isQuery ? '()' : `(${text})`;
    } else if (!token.startsWith('--')) stack.at(-1)!.text += token;
  }
  queries.push({ text: stack[0]!.text, sources: new Map() });
  for (const query of queries) {
    const named = query.text.matchAll(/\b(?:from|join|update|into|using)\s+([a-z_]+)(?:\s+(?:as\s+)?([a-z_]+))?/gi);
    for (const [, table, alias] of named) {
      if (!query.sources.has(table!)) query.sources.set(table!, table!);
      if (alias && !keywords.test(alias)) query.sources.set(alias, table!);
    }
  }
  return queries;
}

const literals = (text: string): string[] => [...text.matchAll(/'([^']*)'/g)].map(([, literal]) => literal!);

/** What a column is compared with or set to. */
const uses =
  /(?:\b([a-z_]+)\.)?\b(status|state)\s*(?:(=|<>|!=)\s*('[^']*'|case\b.*?\bend\b)|(?:not\s+)?(in)\s*(\([^()]*\)))/gis;

interface Use {
  query: Query;
  qualifier: string | undefined;
  column: string;
  given: string[];
  isAssignment: boolean;
}

function usesOf(query: Query): Use[] {
  return [...query.text.matchAll(uses)].map(({ 1: qualifier, 2: column, 3: operator, 4: value, 6: list, index }) => {
    const isAssignment = operator === '=' && !qualifier && /(?:\bset|,)\s*$/i.test(query.text.slice(0, index));
    const branches = value?.startsWith('case') ? value.replaceAll(/\bwhen\b.*?\bthen\b/gis, '') : (value ?? list!);
    return { query, qualifier, column: column!, given: literals(branches), isAssignment };
  });
}

/** Splits at commas outside parentheses. */
function fieldsOf(text: string): string[] {
  let depth = 0;
  const fields = [''];
  for (const char of text) {
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (char === ',' && depth === 0) fields.push('');
    else fields[fields.length - 1] += char;
  }
  return fields.map((field) => field.trim());
}

/** The literals that a query inserts into a column. */
function insertedInto(query: Query, { table, column }: StoredStates): string[] {
  const insert = new RegExp(
    `insert into ${table}(?: as \\w+)?\\s*\\(([^()]*)\\)\\s*(?:select\\s+(.*?)\\s+from\\b|values\\s*\\((.*?)\\)\\s*(?:on|returning|$))`,
    'is',
  ).exec(query.text);
  if (!insert) return [];
  const value = fieldsOf(insert[2] ?? insert[3]!)[fieldsOf(insert[1]!).indexOf(column)];
  return value === undefined ? [] : literals(value);
}

/** What is wrong with the states that a statement names. */
export function findUnknownStates(sql: string, tables: readonly StoredStates[]): string[] {
  const queries = queriesOf(sql);
  const ctes = new Set([...sql.matchAll(/\b([a-z_]+)\s+as\s+(?:materialized\s+)?\(/gi)].map(([, name]) => name!));
  const mentioned = tables.filter(({ table }) => queries.some(({ sources }) => [...sources.values()].includes(table)));
  const found: string[] = [];
  for (const query of queries) {
    const own = [...query.sources.values()];
    /** A column without a qualifier is of a table of its query; that of a CTE may be of any table of the statement. */
    const candidates = ({ qualifier, column }: Use): StoredStates[] => {
      const source = qualifier && query.sources.get(qualifier);
      const names = source ? [source] : own;
      const direct = tables.filter((table) => table.column === column && names.includes(table.table));
      if (direct.length > 0) return direct;
      const isRealTable = names.some((name) => !ctes.has(name) && !/^jsonb?_to_recordset$/.test(name));
      return isRealTable && !['old', 'new', 'excluded'].includes(qualifier ?? '')
        ? []
        : mentioned.filter((table) => table.column === column);
    };
    const inQuery = usesOf(query);
    for (const use of inQuery) {
      const of = candidates(use);
      for (const literal of of.length === 0 ? [] : use.given) {
        if (!of.some(({ states }) => states.includes(literal)))
          found.push(`"${literal}" is no ${use.column} of ${of.map(({ table }) => table).join(' or ')}`);
      }
    }
    for (const table of tables) {
      for (const literal of insertedInto(query, table)) {
        if (!table.states.includes(literal)) found.push(`"${literal}" is no ${table.column} of ${table.table}`);
      }
      const isUpdate = new RegExp(`\\bupdate ${table.table}\\b`, 'i').test(query.text);
      const ofTable = inQuery.filter((use) => isUpdate && candidates(use).includes(table));
      const to = ofTable.filter(({ isAssignment }) => isAssignment).flatMap(({ given }) => given);
      const from = ofTable.filter(({ isAssignment }) => !isAssignment).flatMap(({ given }) => given);
      for (const [one, other] of from.flatMap((one) => to.map((other) => [one, other] as const))) {
        const isKnown = one !== other && table.states.includes(one) && table.states.includes(other);
        if (isKnown && !table.canMove(one, other)) found.push(`${table.table} cannot go from ${one} to ${other}`);
      }
    }
  }
  return found;
}
