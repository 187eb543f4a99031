import { registerHooks } from 'node:module';

/**
 * What Node found for each import: its URL and format, by what was asked for and by whom. To look it up takes a third of
 * the processor time in which the product's code is loaded, which the tests do some two hundred times.
 */
export type Resolutions = Record<string, [url: string, format?: string]>;

const found: Resolutions = {};

/** Which file a name stands for depends on the conditions of `exports`, which differ for `import` and `require`. */
const keyOf = (
  specifier: string,
  { parentURL, conditions }: { parentURL?: string | undefined; conditions: string[] },
) => `${conditions.includes('import') ? 'import' : 'require'} ${specifier} ${parentURL ?? ''}`;

/** Writes down what this process resolves from now on. @returns what was found, which grows */
export function recordResolutions(): Resolutions {
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      found[keyOf(specifier, context)] = resolved.format ? [resolved.url, resolved.format] : [resolved.url];
      return resolved;
    },
  });
  return found;
}

/** What was recorded in this process. */
export const recordedResolutions = (): Resolutions => found;

/** Spares this process and its threads the search for what is known; they search for the rest. */
export function useResolutions(known: Resolutions): void {
  registerHooks({
    resolve(specifier, context, next) {
      const hit = known[keyOf(specifier, context)];
      return hit ? { url: hit[0], format: hit[1], shortCircuit: true } : next(specifier, context);
    },
  });
}
