import { useState } from 'react';
import type { WorkflowDetail } from '../../../../sdk/typescript/src/index.ts';
import { TextArea } from '../../components/field.tsx';
import { type FormProperty, SchemaForm } from '../../components/schema-form.tsx';

interface InputDefinition extends FormProperty {
  name: string;
  required: boolean;
}

/** What a run is started with. */
export interface RunArguments {
  input?: unknown;
  variables?: Record<string, unknown>;
}

/** A text as JSON where it is some, and as a string otherwise. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Fields for the inputs that a workflow declares, or one for its input where it declares none. */
export function VariablesInput({
  workflow,
  value,
  onChange,
}: {
  workflow: WorkflowDetail;
  value: RunArguments;
  onChange(value: RunArguments): void;
}) {
  const declared = (workflow as { inputs?: InputDefinition[] }).inputs ?? [];
  const [text, setText] = useState(typeof value.input === 'string' ? value.input : '');
  if (declared.length === 0) {
    return (
      <TextArea
        label="Input"
        hint="Text, or JSON. Prompts have it as {{input}}."
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          onChange(target.value === '' ? {} : { input: jsonOrText(target.value) });
        }}
      />
    );
  }
  return (
    <SchemaForm
      schema={{
        properties: Object.fromEntries(declared.map((one) => [one.name, one])),
        required: declared.filter(({ required }) => required).map(({ name }) => name),
      }}
      values={value.variables ?? {}}
      onChange={(variables) => onChange({ variables })}
    />
  );
}
