// Names of events that callers send, as opposed to those that the platform publishes.

export const maxEventNameLength = 128;

/** Bytes of an event's data as JSON, and of the variables that a trigger makes of it. */
export const maxEventDataBytes = 256 * 1024;

/** Up to five words with points between them. Without lookahead, which not every reader of the OpenAPI document knows. */
export const eventNameForm = /^[a-z0-9_]+(\.[a-z0-9_]+){0,4}$/;

/** Names that begin with `atelier.` are the platform's. */
export const eventNamePattern = /^(?!atelier\.)[a-z0-9_]+(\.[a-z0-9_]+){0,4}$/;

export const isEventName = (name: string): boolean => name.length <= maxEventNameLength && eventNamePattern.test(name);

const reservedPrefixes: readonly string[] = ['workflow', 'approval', 'batch', 'studio', 'booking', 'api_key'];

/**
 * Why callers may not send an event of this name, in words for them; undefined when they may.
 * @param published the platform's event types
 * @param isIntegration whether a word is the id of an integration
 */
export function findReservedName(
  name: string,
  published: { has(type: string): boolean },
  isIntegration: (word: string) => boolean,
): string | undefined {
  if (published.has(name)) return 'The platform publishes events of this type.';
  const [first, second] = name.split('.');
  if (second === undefined) return undefined;
  if (reservedPrefixes.includes(first!)) return `Names that begin with ${first}. are the platform's.`;
  return isIntegration(first!) ? 'Names that begin with the id of an integration are its own.' : undefined;
}

/** A chain of more workflows than this, each started by an event of the one before, goes no further. */
export const maxChain = 5;
