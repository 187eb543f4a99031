import { useState } from 'react';
import { SelectField, TextArea, TextField } from '../../components/field.tsx';
import type { StepField } from './step-fields.ts';

interface StepFieldInputProps {
  field: StepField;
  value: unknown;
  /** Undefined removes the field from the step. */
  onChange(value: unknown): void;
}

/** One field of a step. An empty field is omitted from the step. */
export function StepFieldInput({ field, value, onChange }: StepFieldInputProps) {
  const { label, hint, kind } = field;
  if (kind === 'json') return <JsonField field={field} value={value} onChange={onChange} />;
  if (kind === 'choice') {
    return (
      <SelectField
        label={label}
        hint={hint}
        value={typeof value === 'string' ? value : ''}
        onChange={({ target }) => onChange(target.value || undefined)}
        options={[{ value: '', label: 'Default' }, ...(field.choices ?? []).map((one) => ({ value: one, label: one }))]}
      />
    );
  }
  if (kind === 'number') {
    return (
      <TextField
        label={label}
        hint={hint}
        type="number"
        step="any"
        value={typeof value === 'number' ? value : ''}
        onChange={({ target }) => onChange(target.value === '' ? undefined : Number(target.value))}
      />
    );
  }
  if (kind === 'list') {
    return (
      <TextField
        label={label}
        hint={hint}
        // Steps move and go: the field is then another step's.
        key={JSON.stringify(value)}
        defaultValue={Array.isArray(value) ? value.join(', ') : ''}
        onBlur={({ target }) => {
          const items = target.value.split(',').flatMap((item) => item.trim() || []);
          onChange(items.length > 0 ? items : undefined);
        }}
      />
    );
  }
  const Field = kind === 'text' ? TextArea : TextField;
  return (
    <Field
      label={label}
      hint={hint}
      value={typeof value === 'string' || typeof value === 'number' ? String(value) : ''}
      onChange={({ target }: { target: { value: string } }) => onChange(target.value || undefined)}
    />
  );
}

const textOf = (value: unknown) => (value === undefined ? '' : JSON.stringify(value, null, 2));

/** A field whose value is JSON. Invalid JSON stays in the field and changes nothing. */
function JsonField({ field, value, onChange }: StepFieldInputProps) {
  const [text, setText] = useState(textOf(value));
  const [problem, setProblem] = useState<string>();
  // The value that the text was last made of, or made. Another one comes from elsewhere: a step was moved or removed.
  const [known, setKnown] = useState(JSON.stringify(value));
  if (JSON.stringify(value) !== known) {
    setKnown(JSON.stringify(value));
    setText(textOf(value));
    setProblem(undefined);
  }
  const read = (next: string) => {
    setText(next);
    try {
      const made: unknown = next.trim() === '' ? undefined : JSON.parse(next);
      setKnown(JSON.stringify(made));
      setProblem(undefined);
      onChange(made);
    } catch (error) {
      setProblem(`This is no JSON: ${(error as Error).message}`);
    }
  };
  return (
    <TextArea
      label={field.label}
      hint={field.hint}
      problem={problem}
      rows={Math.min(8, text.split('\n').length + 1)}
      spellCheck={false}
      className="font-mono text-xs"
      value={text}
      onChange={({ target }) => read(target.value)}
    />
  );
}
