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

/** Fields for a flat object schema. Empty fields are omitted. */
export function SchemaForm({ schema, values, onChange, problems = {} }: SchemaFormProps) {
  const set = (name: string, value: unknown) => {
    const { [name]: _, ...rest } = values;
    onChange(value === undefined ? rest : { ...rest, [name]: value });
  };
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const isRequired = schema.required?.includes(name) ?? false;
    const label = `${property.title ?? name}${isRequired ? '' : ' (optional)'}`;
    const common = { label, hint: property.description, problem: problems[name], required: isRequired };
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
          checked={value === true}
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
