import { Button } from '../../components/button.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { StepFieldInput } from './step-field-input.tsx';
import { idsOf, newStep, type StepDefinition, stepKindOf, stepKinds } from './step-fields.ts';

interface Branch {
  id: string;
  name?: string;
  steps: StepDefinition[];
}

interface StepListProps {
  label: string;
  steps: readonly StepDefinition[];
  /** The ids of all steps of the workflow. */
  taken: readonly string[];
  onChange(steps: StepDefinition[]): void;
}

/** A list of steps as forms: each can be edited, moved and removed, and new ones are added at its end. */
function StepList({ label, steps, taken, onChange }: StepListProps) {
  const replace = (index: number, ...by: StepDefinition[]) => onChange(steps.toSpliced(index, 1, ...by));
  const move = (index: number, to: number) => onChange(steps.toSpliced(index, 1).toSpliced(to, 0, steps[index]!));
  return (
    <div>
      <ol aria-label={label} className="m-0 list-none p-0">
        {steps.map((step, index) => (
          <li key={index} className="mb-3 rounded-md border border-line bg-surface p-3">
            <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
              <strong>
                {index + 1}. {stepKindOf(step.type)?.title ?? step.type}
              </strong>
              <span className="flex gap-1">
                <Button
                  look="plain"
                  aria-label={`Move ${step.id} up`}
                  disabled={index === 0}
                  onClick={() => move(index, index - 1)}
                >
                  ↑
                </Button>
                <Button
                  look="plain"
                  aria-label={`Move ${step.id} down`}
                  disabled={index === steps.length - 1}
                  onClick={() => move(index, index + 1)}
                >
                  ↓
                </Button>
                <Button look="plain" aria-label={`Remove ${step.id}`} onClick={() => replace(index)}>
                  Remove
                </Button>
              </span>
            </div>
            <StepForm step={step} taken={taken} onChange={(changed) => replace(index, changed)} />
          </li>
        ))}
      </ol>
      <SelectField
        label={`Add a step to ${label}`}
        isLabelHidden
        value=""
        onChange={({ target }) => target.value && onChange([...steps, newStep(target.value, taken)])}
        options={[
          { value: '', label: 'Add a step…' },
          ...stepKinds.map(({ type, title }) => ({ value: type, label: title })),
        ]}
      />
    </div>
  );
}

function StepForm({
  step,
  taken,
  onChange,
}: {
  step: StepDefinition;
  taken: readonly string[];
  onChange(step: StepDefinition): void;
}) {
  const kind = stepKindOf(step.type);
  const set = (name: string, value: unknown) => {
    const { [name]: _, ...rest } = step;
    onChange((value === undefined ? rest : { ...step, [name]: value }) as StepDefinition);
  };
  return (
    <>
      <div className="grid gap-x-3 md:grid-cols-2">
        <TextField label="Id" value={step.id} onChange={({ target }) => set('id', target.value)} />
        <TextField
          label="Name (optional)"
          value={typeof step.name === 'string' ? step.name : ''}
          onChange={({ target }) => set('name', target.value || undefined)}
        />
      </div>
      {kind?.fields.map((field) => (
        <StepFieldInput
          key={field.name}
          field={field}
          value={step[field.name]}
          onChange={(value) => set(field.name, value)}
        />
      ))}
      {kind?.contains === 'steps' && (
        <StepList
          label={`the steps of ${step.id}`}
          steps={(step.steps as StepDefinition[] | undefined) ?? []}
          taken={taken}
          onChange={(steps) => set('steps', steps)}
        />
      )}
      {kind?.contains === 'branches' && (
        <Branches
          branches={(step.branches as Branch[] | undefined) ?? []}
          taken={taken}
          onChange={(branches) => set('branches', branches)}
        />
      )}
    </>
  );
}

function Branches({
  branches,
  taken,
  onChange,
}: {
  branches: readonly Branch[];
  taken: readonly string[];
  onChange(branches: Branch[]): void;
}) {
  const replace = (index: number, ...by: Branch[]) => onChange(branches.toSpliced(index, 1, ...by));
  const add = () => {
    const id = `branch_${branches.length + 1}`;
    onChange([...branches, { id, steps: [newStep('transform', taken)] }]);
  };
  return (
    <>
      {branches.map((branch, index) => (
        <fieldset key={index} className="mb-3 rounded-md border border-line p-3">
          <legend className="px-1 text-sm">Branch {branch.id}</legend>
          <div className="flex items-end gap-2">
            <TextField
              label="Id of the branch"
              value={branch.id}
              onChange={({ target }) => replace(index, { ...branch, id: target.value })}
            />
            <Button className="mb-3" disabled={branches.length <= 2} onClick={() => replace(index)}>
              Remove the branch
            </Button>
          </div>
          <StepList
            label={`the steps of branch ${branch.id}`}
            steps={branch.steps ?? []}
            taken={taken}
            onChange={(steps) => replace(index, { ...branch, steps })}
          />
        </fieldset>
      ))}
      <Button onClick={add}>Add a branch</Button>
    </>
  );
}

/** The forms of a whole definition. */
export function DefinitionForms({
  steps,
  onChange,
}: {
  steps: readonly StepDefinition[];
  onChange(steps: StepDefinition[]): void;
}) {
  return <StepList label="the workflow" steps={steps} taken={idsOf(steps)} onChange={onChange} />;
}
