/** The members of a definition: a change of any of them makes a new version of its workflow. */
const definitionFields = [
  'steps',
  'config',
  'aiModel',
  'aiProvider',
  'inputs',
  'concurrency',
  'maxDurationSeconds',
] as const;

/** The members of a definition. The value may have more. Absent members are null. */
export const definitionOf = (from: object): Record<(typeof definitionFields)[number], unknown> =>
  Object.fromEntries(definitionFields.map((name) => [name, (from as Record<string, unknown>)[name] ?? null])) as Record<
    (typeof definitionFields)[number],
    unknown
  >;
