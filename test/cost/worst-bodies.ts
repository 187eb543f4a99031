import { maxStructures } from '../../src/platform/core/bounded-json.ts';
import type { DocumentedOperation, Json, ReadDocument } from '../openapi/document.ts';

/** A body of the family of the worst, as it is sent. */
export interface WorstBody {
  name: string;
  body: string;
}

/** Below the 1 MiB that a body may have, with room for what is around it. */
const nearlyAll = 1_000_000;

/** What careless code reads again and again when it stands in long runs, and what expands when it is escaped or encoded. */
const fillers = [
  '\n',
  ' ',
  '\t',
  '{{',
  '}}',
  'a',
  'aA0',
  '"',
  '\\',
  '<',
  '&',
  '=',
  '(',
  '[',
  '{',
  '`',
  '```',
  '.',
  ',',
  ':',
  '/',
  '%',
  '%2',
  '-',
  '_',
  '+',
  '@',
  '#',
  '*',
  '|',
  '0',
  '\u00e9',
  '\u{1f600}',
  '\u202e',
  '\u0301',
  '\u2028',
];

/** A text of this many characters that is made of long runs. */
export function longText(characters: number): string {
  const each = Math.ceil(characters / fillers.length);
  const text = fillers.map((filler) => filler.repeat(Math.ceil(each / filler.length)).slice(0, each)).join('');
  return text.slice(0, characters).toWellFormed();
}

const list = (length: number) => Array.from({ length }, (_, index) => index);
const repeated = (part: string, bytes: number) => part.repeat(Math.floor(bytes / part.length));

/** JSON texts of one value, about as long as this. */
export const deepArrays = (bytes: number) => `${repeated('[', bytes / 2)}${repeated(']', bytes / 2)}`;
export const deepObjects = (bytes: number) => `${repeated('{"a":', (bytes * 5) / 6)}1${repeated('}', bytes / 6)}`;
export const manyNumbers = (bytes: number) => `[${repeated('0,', bytes - 3)}0]`;
export const manyObjects = (bytes: number) => `[${repeated('{},', bytes - 4)}{}]`;
export const manyMembers = (bytes: number) =>
  `{${list(Math.floor(bytes / 12))
    .map((index) => `"k${index}":0`)
    .join()}}`;
/** As many as are read, with room for what is around them. */
export const maxMembers = (bytes: number) => manyMembers(Math.min(bytes, (maxStructures - 1_000) * 12));
/** As many objects and members together, each object of another shape. */
export const maxShapes = (bytes: number) =>
  `[${list(Math.floor(Math.min(bytes / 16, (maxStructures - 1_000) / 2)))
    .map((index) => `{"k${index}":0}`)
    .join()}]`;
export const repeatedMember = (bytes: number) => `{${repeated('"a":0,', bytes - 8)}"a":0}`;
const longName = (bytes: number) => `{${JSON.stringify('n'.repeat(bytes))}:0}`;
const escapes = (bytes: number) => `"${repeated('\\u0041', bytes)}"`;

/** Made once: the same values are sent to many doors. */
function once(textOf: (bytes: number) => string): (bytes: number) => string {
  const made = new Map<number, string>();
  return (bytes) => {
    const text = made.get(bytes) ?? textOf(bytes);
    made.set(bytes, text);
    return text;
  };
}

/** Values that are large in some way, as JSON. */
export const worstValues: Readonly<Record<string, (bytes: number) => string>> = {
  'deep arrays': once(deepArrays),
  'deep objects': once(deepObjects),
  'many numbers': once(manyNumbers),
  'many objects': once(manyObjects),
  'many members': once(manyMembers),
  'the most members': once(maxMembers),
  'the most shapes': once(maxShapes),
  'a member repeated': once(repeatedMember),
  'a long name': once(longName),
  'a long text': once((bytes) => JSON.stringify(longText(bytes / 2))),
  'escaped letters': once(escapes),
};

/** A place in a body, the schema of what stands there, and what stands there in the example. */
interface Place {
  path: (string | number)[];
  schema: Json;
  value: Json;
}

/** The branch of a schema that the value at hand belongs to, with references followed. */
function resolved(schema: Json, value: Json, { resolve }: ReadDocument): Json {
  if (!schema) return {};
  if (schema.$ref) return resolved(resolve(schema.$ref), value, { resolve } as ReadDocument);
  if (schema.allOf) {
    const parts = schema.allOf.map((one: Json) => resolved(one, value, { resolve } as ReadDocument));
    return Object.assign({}, ...parts);
  }
  const branches: Json[] | undefined = schema.anyOf ?? schema.oneOf;
  if (!branches) return schema;
  const known = branches.map((one) => resolved(one, value, { resolve } as ReadDocument));
  const kind = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  return known.find(({ type }) => [type].flat().includes(kind)) ?? known[0];
}

/** Every place that the schema names and the example reaches, the first item of each array among them. */
function placesOf(schema: Json, value: Json, document: ReadDocument, path: Place['path'] = []): Place[] {
  const own = resolved(schema, value, document);
  const here: Place[] = [{ path, schema: own, value }];
  if (Array.isArray(value) && value.length > 0) {
    return [...here, ...placesOf(own.items, value[0], document, [...path, 0])];
  }
  const members = Object.entries<Json>(own.properties ?? {}).filter(([, one]) => !one.not);
  return here.concat(members.flatMap(([name, one]) => placesOf(one, value?.[name], document, [...path, name])));
}

const slot = '@@the worst value@@';

/** The body with this JSON text at a place. */
function withText(body: Json, path: Place['path'], text: string): string {
  if (path.length === 0) return text;
  const copy = structuredClone(body ?? {});
  let at = copy;
  for (const name of path.slice(0, -1)) at = at[name] ??= {};
  at[path.at(-1)!] = slot;
  return JSON.stringify(copy).replace(JSON.stringify(slot), () => text);
}

/** An item again and again; what names it is numbered. */
function itemsLike(item: Json, count: number): Json[] {
  const names = ['id', 'name', 'label', 'date', 'email', 'url'].filter((name) => typeof item?.[name] === 'string');
  return list(count).map((index) =>
    names.length === 0
      ? item
      : Object.assign({}, item, Object.fromEntries(names.map((name) => [name, `${item[name]}${index}`]))),
  );
}

const isFree = ({ type, properties, enum: values }: Json) =>
  !values && !properties && (type === undefined || [type].flat().includes('object'));

/** A value that is as large as the document allows at a place. It is made only if the place is tried. */
interface Largest {
  place: Place;
  name: string;
  bytes: number;
  text: () => string;
}

function largestAt(place: Place): Largest[] {
  const { schema, value } = place;
  const types = [schema.type].flat();
  if (schema.enum || 'const' in schema) return [];
  if (types.includes('string')) {
    const bytes = Math.min(schema.maxLength ?? nearlyAll / 3, nearlyAll / 3);
    return [{ place, name: 'as long as allowed', bytes, text: () => JSON.stringify(longText(bytes)) }];
  }
  if (types.includes('array')) {
    const item = value?.[0] ?? 'item';
    const each = JSON.stringify(item).length;
    const fitting = Math.floor((nearlyAll * 0.9) / each);
    const count = Math.min(schema.maxItems ?? fitting, fitting);
    const text = () => JSON.stringify(itemsLike(item, count));
    return [{ place, name: 'as many as allowed', bytes: count * each, text }];
  }
  if (!isFree(schema)) return [];
  const bytes = nearlyAll * 0.9;
  return [
    { place, name: 'the most members', bytes, text: () => worstValues['the most members']!(bytes) },
    {
      place,
      name: 'the most shapes in a member',
      bytes,
      text: () => `{"a":${worstValues['the most shapes']!(bytes)}}`,
    },
    { place, name: 'many numbers in a member', bytes, text: () => `{"a":${worstValues['many numbers']!(bytes)}}` },
    {
      place,
      name: 'depth 60',
      bytes,
      text: () => `${'{"a":'.repeat(60)}${JSON.stringify(longText(200_000))}${'}'.repeat(60)}`,
    },
  ];
}

const sayPath = (path: Place['path']) => path.map((name) => (name === 0 ? '[]' : name)).join('.') || 'body';

/** Places whose largest values are tried for each operation. */
const placesTried = 3;

/** As large as the document allows, at the places where most fits. Other rules may refuse them all the same. */
export function largestBodies(operation: DocumentedOperation, example: Json, document: ReadDocument): WorstBody[] {
  const schema = operation.operation.requestBody?.content['application/json']?.schema;
  if (!schema) return [];
  const large = placesOf(schema, example, document)
    .filter(({ path }) => path.length > 0)
    .flatMap(largestAt)
    .toSorted((a, b) => b.bytes - a.bytes);
  const tried = [...new Set(large.map(({ place }) => place))].slice(0, placesTried);
  return large
    .filter(({ place }) => tried.includes(place))
    .map(({ place: { path }, name, text }) => ({
      name: `${sayPath(path)} ${name}`,
      body: withText(example, path, text()),
    }))
    .filter(({ body }) => Buffer.byteLength(body) <= 1024 ** 2);
}

/** Each of them takes part in every third operation, or fourth; so the whole family is sent many times. */
const chosenFor = <One>(all: readonly One[], index: number, count: number): One[] =>
  list(count).map((offset) => all[(index * count + offset) % all.length]!);

const isRecord = (place: Place) => [place.schema.type].flat().includes('object') && !place.schema.properties;
const isList = ({ schema }: Place) => [schema.type].flat().includes('array');

/**
 * What no operation should take, or not at once: some of the family as the body and at a place, others for each operation;
 * and in each list and each record as many members as fit, of another kind than the document says.
 */
export function excessiveBodies(
  operation: DocumentedOperation,
  example: Json,
  document: ReadDocument,
  index: number,
): WorstBody[] {
  const schema = operation.operation.requestBody?.content['application/json']?.schema;
  if (!schema) return [];
  const places = placesOf(schema, example, document).filter(({ path }) => path.length > 0);
  const at = (place: Place, name: string): WorstBody => ({
    name: `${name} at ${sayPath(place.path)}`,
    body: withText(example, place.path, worstValues[name]!(nearlyAll * 0.95)),
  });
  const names = Object.keys(worstValues);
  const lists = places.filter(isList);
  const records = places.filter(isRecord);
  const others = places.filter((place) => !lists.includes(place) && !records.includes(place));
  const found = [
    ...chosenFor(names, index, 2).map((name) => ({ name: `${name} as the body`, body: worstValues[name]!(nearlyAll) })),
    ...chosenFor(names, index, 2).flatMap((name, nth) =>
      others.length === 0 ? [] : [at(others[(index + nth) % others.length]!, name)],
    ),
    ...lists.flatMap((place) => [at(place, 'many objects'), at(place, 'many numbers')]),
    ...records.flatMap((place) => [at(place, 'many members'), at(place, 'the most members')]),
  ];
  return [...new Map(found.map((one) => [one.name, one])).values()];
}
