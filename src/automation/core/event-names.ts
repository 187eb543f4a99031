// Names of events that callers send, in contrast to those that the platform publishes.

export const maxEventNameLength = 128;

/** Bytes of an event's data as JSON, and of the variables that a trigger makes of it. */
export const maxEventDataBytes = 256 * 1024;

/** Up to five words with points between them. Without lookahead, which not every reader of the OpenAPI document knows. */
export const eventNameForm = /^[a-z0-9_]+(\.[a-z0-9_]+){0,4}$/;

/** Names that begin with `atelier.` are the platform's. */
export const eventNamePattern = /^(?!atelier\.)[a-z0-9_]+(\.[a-z0-9_]+){0,4}$/;

/** First words of the platform's names that callers use too: they sent such names before the platform did. */
const sharedPrefixes: readonly string[] = ['test', 'integration'];

/**
 * Why callers may not send an event of this name, in words for them; undefined when they may.
 * @param published the platform's event types. Names that begin with the first word of one are the platform's too
 * @param isIntegration whether a word is the id of an integration
 */
export function findReservedName(
  name: string,
  published: Pick<ReadonlyMap<string, unknown>, 'has' | 'keys'>,
  isIntegration: (word: string) => boolean,
): string | undefined {
  if (published.has(name)) return 'The platform publishes events of this type.';
  const [first, second] = name.split('.');
  if (second === undefined) return undefined;
  if (isIntegration(first!)) return 'Names that begin with the id of an integration are its own.';
  const isReserved =
    !sharedPrefixes.includes(first!) && [...published.keys()].some((type) => type.startsWith(`${first}.`));
  return isReserved ? `Names that begin with ${first}. are the platform's.` : undefined;
}

/** A chain of more workflows than this, each started by an event of the one before, goes no further. */
export const maxChain = 5;
