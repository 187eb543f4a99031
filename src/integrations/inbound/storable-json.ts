// Matches whole escapes, so that the second half of an escaped backslash does not start another one.
const escapes = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;
const unstorable = /\\u(?:0000|d[89a-f])/;

/** JSON that PostgreSQL can store: NUL and lone surrogates, which it cannot, each become U+FFFD. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  return unstorable.test(json) ? json.replace(escapes, (one) => (one.length === 6 ? '\ufffd' : one)) : json;
}
