import { useEffect, useState } from 'react';

const shownMs = 4_000;

let show: ((text: string) => void) | undefined;

/** Says briefly that something was done. Screen readers announce it. */
export const notify = (text: string): void => show?.(text);

/** Where such sentences appear, for a few seconds each. */
export function Toasts() {
  const [toasts, setToasts] = useState<{ id: number; text: string }[]>([]);
  useEffect(() => {
    let last = 0;
    show = (text) => {
      const id = ++last;
      setToasts((before) => [...before, { id, text }]);
      setTimeout(() => setToasts((before) => before.filter((one) => one.id !== id)), shownMs);
    };
    return () => {
      show = undefined;
    };
  }, []);
  return (
    <div role="status" className="pointer-events-none fixed right-4 bottom-4 z-50 w-72">
      {toasts.map(({ id, text }) => (
        <p key={id} className="mt-2 mb-0 rounded-md border border-line bg-surface px-4 py-2 font-medium shadow-lg">
          {text}
        </p>
      ))}
    </div>
  );
}
