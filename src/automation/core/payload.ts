type Payload = Record<string, unknown>;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The strings of a value, all of which are templates. */
export function templatesIn(payload: unknown): string[] {
  if (typeof payload === 'string') return [payload];
  return isObject(payload) ? Object.values(payload).flatMap(templatesIn) : [];
}

/** The value at a dotted path, as problems of payloads have it; undefined where there is none. */
function valueAt(payload: unknown, path: readonly string[]): unknown {
  let value = payload;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = (value as Payload)[name];
  }
  return value;
}

/** Whether the value at a path depends on the values of a run, so that it cannot be checked earlier. */
export function isTemplated(payload: Payload, path: string): boolean {
  const value = valueAt(payload, path === '' ? [] : path.split('.'));
  return value !== undefined && templatesIn({ value }).some((text) => text.includes('{{'));
}
