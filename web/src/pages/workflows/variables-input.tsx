import { useState } from 'react';
import type { InputDefinition, WorkflowDetail } from '../../../../sdk/typescript/src/index.ts';
import { TextArea } from '../../components/field.tsx';
import { jsonOrText, SchemaForm } from '../../components/schema-form.tsx';

/** A workflow with the inputs that it declares. */
export type WorkflowWithInputs = WorkflowDetail & { inputs?: InputDefinition[] | undefined };

/** What a run is started with. */
export interface RunArguments {
  input?: unknown;
  variables?: Record<string, unknown>;
}

/** Fields for the inputs that a workflow declares, or one for its input where it declares none. */
export function VariablesInput({
  workflow,
  value,
  onChange,
}: {
  workflow: WorkflowWithInputs;
  value: RunArguments;
  onChange(value: RunArguments): void;
}) {
  const declared = workflow.inputs ?? [];
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
