import { useCallback, useState } from 'react';

const prefix = 'atelier.draft.';

/**
 * State of a form that survives a reload of the page, in this window alone.
 * @param name identifies the form and its record
 * @returns the value, how it is set, and how it is forgotten once it is saved
 */
export function useDraft<Value>(name: string, initial: Value): [Value, (value: Value) => void, () => void] {
  const key = prefix + name;
  const [value, setValue] = useState<Value>(() => {
    const kept = sessionStorage.getItem(key);
    return kept === null ? initial : (JSON.parse(kept) as Value);
  });
  const set = useCallback(
    (next: Value) => {
      sessionStorage.setItem(key, JSON.stringify(next));
      setValue(next);
    },
    [key],
  );
  const forget = useCallback(() => sessionStorage.removeItem(key), [key]);
  return [value, set, forget];
}

/** Forgets all drafts of this window. */
export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
}
