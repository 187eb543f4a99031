import { useState } from 'react';

export interface Action<Args extends unknown[]> {
  isBusy: boolean;
  /** Why it failed the last time. */
  error: unknown;
  /** Resolves with whether it succeeded. */
  run(...args: Args): Promise<boolean>;
  /** Forgets the error. */
  reset(): void;
}

/** An action of a person, with its display while it is under way and after a failure. */
export function useAction<Args extends unknown[]>(act: (...args: Args) => Promise<unknown>): Action<Args> {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (...args: Args) => {
    setBusy(true);
    setError(undefined);
    try {
      await act(...args);
      return true;
    } catch (thrown) {
      setError(thrown);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, error, run, reset: () => setError(undefined) };
}
