/**
 * Runs tasks concurrently and waits until all have ended, so that nothing is started after a failure was reported. The
 * first failure aborts the signal of the tasks and is thrown.
 */
export async function settleAll<T extends readonly unknown[]>(
  parent: AbortSignal,
  begin: (signal: AbortSignal) => readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  const own = new AbortController();
  const failures: unknown[] = [];
  const tasks = begin(AbortSignal.any([parent, own.signal])).map((task) =>
    task.catch((error: unknown) => {
      failures.push(error);
      own.abort(error);
    }),
  );
  const results = await Promise.all(tasks);
  if (failures.length > 0) throw failures[0];
  parent.throwIfAborted();
  return results as unknown as T;
}
