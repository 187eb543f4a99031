/** Caches the result of `load` for `ms` milliseconds. Concurrent calls share one call of `load`; errors are not cached. */
export function memoize<Value>(ms: number, load: () => Promise<Value>): () => Promise<Value> {
  let cached: Promise<Value> | undefined;
  return () => {
    if (cached) return cached;
    const current = load();
    cached = current;
    const forget = () => {
      if (cached === current) cached = undefined;
    };
    current.then(() => setTimeout(forget, ms).unref(), forget);
    return current;
  };
}
