/**
 * Whether a value has certainly more than so many bytes as JSON. It is looked at no further than that, so a value of a
 * megabyte costs no more than one of that size.
 */
export const isLargerThan = (value: unknown, bytes: number): boolean => rest(value, bytes) < 0;

/** The rest of `bytes` after a value, with each part of it in its shortest form; below 0 if they are too few. */
function rest(value: unknown, bytes: number): number {
  if (typeof value === 'string') return bytes - value.length - 2;
  if (typeof value !== 'object' || value === null) return bytes - 1;
  let left = bytes - 2;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) left = rest(value[at], left - (at > 0 ? 1 : 0));
    return left;
  }
  let isFirst = true;
  for (const name of Object.keys(value)) {
    left = rest((value as Record<string, unknown>)[name], left - name.length - (isFirst ? 3 : 4));
    isFirst = false;
    if (left < 0) break;
  }
  return left;
}
