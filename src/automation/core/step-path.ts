/**
 * The position of a step in a run: ids of steps and branches and indexes of items from the top, as `["each", 3,
 * "ask"]`.
 */
export type StepPath = readonly (string | number)[];

/**
 * The form in which a path is stored and sent in a query: `each.3.ask`. Ids have no dots, and none begins with a digit.
 */
export const dottedPath = (path: StepPath): string => path.join('.');

/** @returns the path that `dottedPath` writes so */
export const readPath = (dotted: string): (string | number)[] =>
  dotted.split('.').map((part) => (/^(0|[1-9]\d{0,8})$/.test(part) ? Number(part) : part));

/** Whether a dotted path is `prefix` or leads below it. */
export const isWithin = (dotted: string, prefix: string): boolean =>
  dotted === prefix || dotted.startsWith(`${prefix}.`);
