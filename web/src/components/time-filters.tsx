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
      <TextField
        label="From"
        isLabelHidden
        type="datetime-local"
        title="Created at or after"
        defaultValue={localTime(from)}
        onChange={({ target }) => onChange({ from: instant(target.value) })}
      />
      <TextField
        label="To"
        isLabelHidden
        type="datetime-local"
        title="Created before"
        defaultValue={localTime(to)}
        onChange={({ target }) => onChange({ to: instant(target.value) })}
      />
    </>
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
