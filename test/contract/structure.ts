import type { Json } from '../openapi/document.ts';

/** Words for people, and values that only illustrate: they may change in any release. */
const wording = new Set(['summary', 'description', 'example', 'examples', 'info', 'servers']);
/** Lists whose order says nothing. */
const unordered = new Set(['required', 'enum', 'tags']);
/** Members of these are freely chosen names, such as `description`. */
const namedMembers = new Set(['properties', 'headers', 'responses', 'schemas', 'parameters', 'links', 'paths']);

function sorted(list: unknown[]): unknown[] {
  return list
    .map((one) => JSON.stringify(one))
    .toSorted()
    .map((one) => JSON.parse(one));
}

/** A document without its wording: what a program that calls the API depends on. Members are in alphabetical order. */
function structureOf(value: Json, name = ''): Json {
  if (Array.isArray(value)) {
    const items = value.map((one) => structureOf(one));
    return unordered.has(name) ? sorted(items) : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const isNamed = namedMembers.has(name);
  const kept = Object.keys(value)
    .filter((member) => isNamed || !wording.has(member))
    .toSorted();
  // A freely chosen name says nothing about its content.
  return Object.fromEntries(kept.map((member) => [member, structureOf(value[member], isNamed ? '' : member)]));
}

/** One line for each operation, event and component, in alphabetical order. */
export function structureLines(document: Json): string[] {
  const { paths, webhooks, components, tags } = structureOf(document);
  const lines = (kind: string, members: Json) =>
    Object.entries(members).map(([name, value]) => `${kind} ${name} ${JSON.stringify(value)}`);
  return [
    ...Object.entries<Json>(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, one]) => `${method.toUpperCase()} ${path} ${JSON.stringify(one)}`),
    ),
    ...lines('event', webhooks),
    ...Object.entries(components).flatMap(([kind, members]) => lines(kind, members)),
    `tags ${JSON.stringify(tags)}`,
  ].toSorted();
}
