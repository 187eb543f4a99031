import { useState } from 'react';

/** Text that a click copies, an id for example. The middle of a long text is not shown. */
export function Copy({ text, isShort = false }: { text: string; isShort?: boolean }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  const shown = isShort && text.length > 16 ? `${text.slice(0, 8)}…${text.slice(-4)}` : text;
  return (
    <button
      type="button"
      onClick={copy}
      title={text}
      className="rounded px-1 text-left font-mono text-xs hover:bg-raised"
    >
      <span className="sr-only">Copy </span>
      {isCopied ? 'Copied' : shown}
    </button>
  );
}
