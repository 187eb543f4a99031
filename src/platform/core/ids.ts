const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** How the ids of one kind of resource are written: `wf_` and the 32 hex digits of its UUID. */
export interface ResourceId {
  /** Without the underscore. */
  readonly prefix: string;
  /** The prefixed form of a UUID: a pure function of it. */
  format(uuid: string): string;
  /**
   * Reads an id in either form, UUID or prefixed, in upper or lower case.
   * @returns the canonical UUID; undefined when the text is neither, which callers answer as an unknown id
   */
  parse(text: string): string | undefined;
  /** Whether a text starts with this prefix. The rest of it may be malformed. */
  matchesPrefix(text: string): boolean;
}

/** Declares the public ids of one kind of resource. The feature's part lists it, so that no prefix is used twice. */
export function defineId(prefix: string): ResourceId {
  const start = `${prefix}_`;
  const startPattern = new RegExp(`^${start}`, 'i');
  const prefixedPattern = new RegExp(
    `^${start}([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$`,
    'i',
  );
  return {
    prefix,
    format: (uuid) => start + uuid.replaceAll('-', ''),
    parse(text) {
      if (uuidPattern.test(text)) return text.toLowerCase();
      return prefixedPattern.exec(text)?.slice(1).join('-').toLowerCase();
    },
    matchesPrefix: (text) => startPattern.test(text),
  };
}
