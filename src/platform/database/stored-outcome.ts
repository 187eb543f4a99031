/** Where dates stood in a stored outcome: paths of members and indexes. */
type Path = (string | number)[];

/** The member that lists them. */
const dates = '$dates';

/** Dates of outcomes that were stored before their places were, which are kept for a day. */
const datesBefore = ['createdAt', 'updatedAt', 'previousSecretExpiresAt'];

function placesOfDates(value: unknown, path: Path = []): Path[] {
  if (value instanceof Date) return [path];
  if (Array.isArray(value)) return value.flatMap((item, index) => placesOfDates(item, [...path, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => placesOfDates(member, [...path, name]));
}

/** The result of a verb, as the JSON that answers its repetition. */
export function writeOutcome(outcome: object): string {
  const places = placesOfDates(outcome);
  return JSON.stringify(places.length === 0 ? outcome : { ...outcome, [dates]: places });
}

/** @param stored the parsed JSON, whose dates are texts */
export function readOutcome(stored: object): object {
  const { [dates]: places, ...outcome } = stored as Record<string, unknown> & { [dates]?: Path[] };
  const all = places ?? datesBefore.filter((name) => typeof outcome[name] === 'string').map((name) => [name]);
  for (const path of all) {
    // biome-ignore lint/suspicious/noExplicitAny: a walk through JSON
    const holder = path.slice(0, -1).reduce<any>((at, name) => at[name], outcome);
    const last = path.at(-1)!;
    holder[last] = new Date(holder[last]);
  }
  return outcome;
}
