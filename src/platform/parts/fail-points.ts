let armed: string | undefined;

/**
 * Declares a feature's fail points: places, each at a commit boundary, where a crash test kills the process. The
 * feature's part lists the names, so that a test cannot arm an unknown one.
 * @returns a function that kills the process at once when the named fail point is armed
 */
export function defineFailPoints<Name extends string>(...names: Name[]) {
  const failPoint = (name: Name): void => {
    if (armed === name) process.kill(process.pid, 'SIGKILL');
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
}

/** The platform's own fail points. */
export const failPoint = defineFailPoints('audit.recorded');
