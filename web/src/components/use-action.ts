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

/** What had the focus may be gone with what was changed, a row of a list for example: the focus is then in the page. */
function keepFocus(): void {
  if (document.activeElement === document.body) document.getElementById('content')?.focus({ preventScroll: true });
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
      setTimeout(keepFocus);
    }
  };
  return { isBusy, error, run, reset: () => setError(undefined) };
}
