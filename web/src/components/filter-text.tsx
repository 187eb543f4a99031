import { useEffect, useRef } from 'react';
import { TextField } from './field.tsx';

interface FilterTextProps {
  label: string;
  placeholder?: string;
  /** The value in the address. */
  value: string | undefined;
  onChange(value: string | undefined): void;
}

/** A text filter of a list. It takes effect when the field is left or Enter is pressed, and then only if it has changed. */
export function FilterText({ label, placeholder = label, value, onChange }: FilterTextProps) {
  const form = useRef<HTMLFormElement>(null);
  // Others change the address too: the way back in the history, and what removes all filters.
  useEffect(() => {
    form.current!.querySelector('input')!.value = value ?? '';
  }, [value]);
  const apply = (text: string) => {
    const next = text.trim() || undefined;
    if (next !== value) onChange(next);
  };
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        apply(event.currentTarget.querySelector('input')!.value);
      }}
    >
      <TextField
        label={label}
        isLabelHidden
        placeholder={placeholder}
        defaultValue={value ?? ''}
        onBlur={({ target }) => apply(target.value)}
      />
    </form>
  );
}
