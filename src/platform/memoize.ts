/** Does `look` at most once at a time, and gives everybody its answer until that is `ms` milliseconds old. */
export function memoize<Found>(ms: number, look: () => Promise<Found>): () => Promise<Found> {
  let found: Promise<Found> | undefined;
  return () => {
    if (found) return found;
    const current = look();
    found = current;
    const forget = () => {
      if (found === current) found = undefined;
    };
    current.then(() => setTimeout(forget, ms).unref(), forget);
    return current;
  };
}
