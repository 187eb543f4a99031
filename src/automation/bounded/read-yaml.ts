// Runs in a process of the pool.
import { type Document, isScalar, LineCounter, parseDocument, visit, type YAMLMap } from 'yaml';
import { isLargerThan } from '../../platform/core/json-size.ts';

/** Expansions of aliases in one document. */
const maxAliases = 100;
/** Bytes of the document as JSON. */
const maxBytes = 1024 * 1024;

type ReadYaml = { json: string } | { problem: string };

/** The offset of the first key that its map has twice. */
function repeatedKey(document: Document): number | undefined {
  let found: number | undefined;
  const ofMap = (_: unknown, { items }: YAMLMap) => {
    const known = new Set<unknown>();
    for (const { key } of items) {
      if (!isScalar(key)) continue;
      if (known.has(key.value)) {
        found = key.range?.[0] ?? 0;
        return visit.BREAK;
      }
      known.add(key.value);
    }
    return undefined;
  };
  visit(document, { Map: ofMap });
  return found;
}

function parse(text: string): unknown {
  const lines = new LineCounter();
  // The library compares each key of a map with all before it. The check here takes time linear in the text.
  const options = { schema: 'core', version: '1.2', merge: false, uniqueKeys: false, lineCounter: lines } as const;
  const document = parseDocument(text, options);
  const [error] = document.errors;
  if (error) throw error;
  const repeated = repeatedKey(document);
  if (repeated !== undefined) {
    const { line, col } = lines.linePos(repeated);
    throw new Error(`Map keys must be unique at line ${line}, column ${col}`);
  }
  return document.toJS({ maxAliasCount: maxAliases });
}

/** Reads a YAML document of plain JSON values. */
export function perform(text: string): ReadYaml {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    const [first = ''] = String((error as Error).message).split('\n');
    return { problem: `The body is not valid YAML: ${first.slice(0, 200)}` };
  }
  if (isLargerThan(value, maxBytes)) return { problem: `The body is larger than ${maxBytes} bytes as JSON.` };
  return { json: JSON.stringify(value ?? null) };
}
