import { useEffect, useRef } from 'react';
import { TextField } from './field.tsx';

interface TimeFiltersProps {
  /** Instants as the API takes them. */
  from: string | undefined;
  to: string | undefined;
  onChange(changed: { from?: string | undefined; to?: string | undefined }): void;
}

/** The range of creation times of a list, in the viewer's zone. */
export function TimeFilters({ from, to, onChange }: TimeFiltersProps) {
  return (
    <>
      <TimeFilter label="From" title="Created at or after" at={from} onChange={(next) => onChange({ from: next })} />
      <TimeFilter label="To" title="Created before" at={to} onChange={(next) => onChange({ to: next })} />
    </>
  );
}

function TimeFilter({
  label,
  title,
  at,
  onChange,
}: {
  label: string;
  title: string;
  at: string | undefined;
  onChange(at: string | undefined): void;
}) {
  const frame = useRef<HTMLDivElement>(null);
  // Others change the address too. A field in which a time is being typed is left alone.
  useEffect(() => {
    const field = frame.current!.querySelector('input')!;
    if (field !== document.activeElement) field.value = localTime(at);
  }, [at]);
  return (
    <div ref={frame}>
      <TextField
        label={label}
        isLabelHidden
        type="datetime-local"
        title={title}
        defaultValue={localTime(at)}
        onChange={({ target }) => onChange(instant(target.value))}
      />
    </div>
  );
}

/** An instant as a field of local time takes it. */
function localTime(at: string | undefined): string {
  if (!at) return '';
  const date = new Date(at);
  return Number.isNaN(date.getTime())
    ? ''
    : new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const instant = (local: string) => (local ? new Date(local).toISOString() : undefined);
