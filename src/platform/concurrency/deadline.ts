/** Something exceeded its time limit. It may still continue. */
export class DeadlineExceeded extends Error {
  override name = 'DeadlineExceeded';
}

/** Waits for work that has begun, up to the deadline. @throws DeadlineExceeded */
export async function withDeadline<T>(begun: Promise<T>, deadlineMs: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new DeadlineExceeded(`Not done within ${deadlineMs} ms.`)), deadlineMs);
  try {
    return await Promise.race([begun, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The result of a promise, unless the signal aborts first; the work then continues. @throws the reason of the signal
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason);
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) aborted();
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}
