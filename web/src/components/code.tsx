import { Tabs } from '@base-ui/react/tabs';
import { useState } from 'react';

/** A block of text that can be copied and scrolls within itself. The text is shown unchanged, whatever it contains. */
export function Code({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <div className="relative">
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: What scrolls is reached by the keyboard.
        tabIndex={0}
        className="max-h-96 overflow-auto rounded-md border border-line bg-raised p-3 pr-16"
      >
        <pre className="m-0 font-mono text-xs whitespace-pre-wrap">{text}</pre>
      </section>
      <button
        type="button"
        onClick={copy}
        aria-label={`Copy ${label}`}
        className="absolute top-2 right-2 rounded border border-line bg-surface px-2 py-0.5 text-xs"
      >
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}

const maxShownBytes = 200_000;

/** A JSON value. Strings are shown as they are; very large values are cut for display. */
export function Json({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined');
  return (
    <Code
      label={label}
      text={
        text.length > maxShownBytes ? `${text.slice(0, maxShownBytes)}\n… (${text.length} characters in all)` : text
      }
    />
  );
}

/** The same request as a command for a shell and as TypeScript. */
export function RequestExample({ curl, typescript }: { curl: string; typescript: string }) {
  return (
    <details className="mt-4">
      <summary className="text-sm text-muted">The same with curl and TypeScript</summary>
      <Tabs.Root defaultValue="curl" className="mt-2">
        <Tabs.List className="mb-2 flex gap-1" aria-label="Language">
          {['curl', 'typescript'].map((name) => (
            <Tabs.Tab
              key={name}
              value={name}
              className="rounded px-2 py-1 text-xs data-[active]:bg-raised data-[active]:font-semibold"
            >
              {name === 'curl' ? 'curl' : 'TypeScript'}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="curl">
          <Code label="curl" text={curl} />
        </Tabs.Panel>
        <Tabs.Panel value="typescript">
          <Code label="TypeScript" text={typescript} />
        </Tabs.Panel>
      </Tabs.Root>
    </details>
  );
}
