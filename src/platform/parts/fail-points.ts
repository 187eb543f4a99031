let armed: string | undefined;
/** Set while the armed fail point holds work instead of killing the process. */
let hold: (() => Promise<void>) | undefined;

/**
 * Declares a feature's fail points: places, each at a commit boundary, where a crash test kills the process or holds its
 * work. The feature's part lists the names, so that a test cannot arm an unknown one.
 * @returns a function that kills the process at once when the named fail point is armed, or that resolves when the held
 *   fail point is released; only work that awaits it is held
 */
export function defineFailPoints<Name extends string>(...names: Name[]) {
  const failPoint = (name: Name): Promise<void> | undefined => {
    if (armed !== name) return undefined;
    if (!hold) process.kill(process.pid, 'SIGKILL');
    return hold?.();
  };
  return Object.assign(failPoint, { names: names as readonly string[] });
}

/**
 * Arms one fail point for the lifetime of this process. `readEnv` refuses the variable in production.
 * @throws Error when no part declares it
 */
export function armFailPoint(name: string | undefined, declared: readonly string[]): void {
  if (name !== undefined && !declared.includes(name)) throw new Error(`No part declares the fail point ${name}.`);
  armed = name;
  hold = undefined;
}

/**
 * Arms one fail point to hold the work that reaches it.
 * @returns the release, which disarms the fail point
 * @throws Error when no part declares it
 */
export function holdFailPoint(name: string, declared: readonly string[], reached: () => void): () => void {
  armFailPoint(name, declared);
  const { promise, resolve } = Promise.withResolvers<void>();
  hold = () => {
    reached();
    return promise;
  };
  return () => {
    armFailPoint(undefined, declared);
    resolve();
  };
}

/** The platform's own fail points. */
export const failPoint = defineFailPoints('audit.recorded');
