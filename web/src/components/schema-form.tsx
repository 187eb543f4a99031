import { useState } from 'react';
import { CheckField, SelectField, TextArea, TextField } from './field.tsx';

/** A property of a form: the part of JSON Schema that forms of approvals and inputs of workflows use. */
export interface FormProperty {
  type?: string;
  title?: string;
  description?: string;
  enum?: readonly unknown[];
  default?: unknown;
  maxLength?: number;
}

export interface FormSchema {
  properties?: Record<string, FormProperty>;
  required?: readonly string[];
}

interface SchemaFormProps {
  schema: FormSchema;
  values: Record<string, unknown>;
  onChange(values: Record<string, unknown>): void;
  /** The problem of each value, by its name. */
  problems?: Record<string, string>;
}

/** The description, and what the value is where the field is empty. */
function hintOf({ description, default: usual, type }: FormProperty): string | undefined {
  const byDefault = usual === undefined || type === 'boolean' ? undefined : `Default: ${JSON.stringify(usual)}`;
  return [description, byDefault].filter(Boolean).join(' ') || undefined;
}

/** An object or a list, as JSON. What is no JSON is sent as text, and refused where it stands. */
function JsonValue({
  value,
  onChange,
  ...field
}: {
  label: string;
  hint: string | undefined;
  problem: string | undefined;
  required: boolean;
  value: unknown;
  onChange(value: unknown): void;
}) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value));
  const read = (next: string) => {
    setText(next);
    onChange(next.trim() === '' ? undefined : jsonOrText(next));
  };
  return (
    <TextArea
      {...field}
      spellCheck={false}
      placeholder="JSON"
      className="font-mono text-xs"
      value={text}
      onChange={({ target }) => read(target.value)}
    />
  );
}

/** A text as JSON where it is some, and as a string otherwise. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Fields for a flat object schema. Empty fields are omitted. */
export function SchemaForm({ schema, values, onChange, problems = {} }: SchemaFormProps) {
  const set = (name: string, value: unknown) => {
    const { [name]: _, ...rest } = values;
    onChange(value === undefined ? rest : { ...rest, [name]: value });
  };
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const isRequired = schema.required?.includes(name) ?? false;
    const label = `${property.title ?? name}${isRequired ? '' : ' (optional)'}`;
    const common = { label, hint: hintOf(property), problem: problems[name], required: isRequired };
    const value = values[name];
    if (property.enum) {
      return (
        <SelectField
          key={name}
          {...common}
          value={value === undefined ? '' : JSON.stringify(value)}
          onChange={({ target }) => set(name, target.value === '' ? undefined : JSON.parse(target.value))}
          options={[
            { value: '', label: 'Choose…' },
            ...property.enum.map((one) => ({ value: JSON.stringify(one), label: String(one) })),
          ]}
        />
      );
    }
    if (property.type === 'boolean') {
      return (
        <CheckField
          key={name}
          label={property.title ?? name}
          // Absent, it is what the workflow gives it.
          checked={(value ?? property.default) === true}
          onChange={({ target }) => set(name, target.checked)}
        />
      );
    }
    if (property.type === 'number' || property.type === 'integer') {
      return (
        <TextField
          key={name}
          {...common}
          type="number"
          step={property.type === 'integer' ? 1 : 'any'}
          value={typeof value === 'number' ? value : ''}
          onChange={({ target }) => set(name, target.value === '' ? undefined : Number(target.value))}
        />
      );
    }
    if (property.type === 'object' || property.type === 'array')
      return <JsonValue key={name} {...common} value={value} onChange={(next) => set(name, next)} />;
    const Field = (property.maxLength ?? 0) > 200 ? TextArea : TextField;
    return (
      <Field
        key={name}
        {...common}
        value={typeof value === 'string' ? value : ''}
        onChange={({ target }: { target: { value: string } }) =>
          set(name, target.value === '' ? undefined : target.value)
        }
      />
    );
  });
}
