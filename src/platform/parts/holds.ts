/**
 * A hold makes work of the sandbox wait until a test releases it, so that a test does not rely on how long the work takes.
 * Each hold has a unique name. A released name never holds again.
 */
const released = new Set<string>();
const waiting = new Map<string, PromiseWithResolvers<void>>();
let areEnabled = false;

/** The PostgreSQL channel on which tests send the name of a hold to release it. */
export const holdsChannel = 'release_hold';

/** Until this is called, nothing holds. Only processes with `NODE_ENV=test` and tests call it. */
export function enableHolds(): void {
  areEnabled = true;
}

/** For a test that enabled holds in its own process. */
export function disableHolds(): void {
  areEnabled = false;
}

export function releaseHold(name: string): void {
  released.add(name);
  waiting.get(name)?.resolve();
  waiting.delete(name);
}

export const isHeld = (name: string | undefined): boolean => areEnabled && name !== undefined && !released.has(name);

/** Waits until the hold is released. @throws the reason of the signal */
export async function holdUntilReleased(name: string | undefined, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (!isHeld(name)) return;
  const release = waiting.get(name!) ?? Promise.withResolvers<void>();
  waiting.set(name!, release);
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    await Promise.race([release.promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
