import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';

const control =
  'w-full rounded-md border border-line bg-surface px-2.5 py-1.5 text-ink disabled:opacity-60 aria-invalid:border-bad';

interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** The problem of the value. */
  problem?: string | undefined;
  /** The label is only for screen readers, if the context is clear to the eye. */
  isLabelHidden?: boolean;
}

function Field({
  label,
  hint,
  problem,
  isLabelHidden,
  render,
}: FieldProps & { render(ids: { id: string; describedBy: string | undefined }): ReactNode }) {
  const id = useId();
  const describedBy = hint || problem ? `${id}-hint` : undefined;
  return (
    <div className={isLabelHidden ? '' : 'mb-3'}>
      <label htmlFor={id} className={isLabelHidden ? 'sr-only' : 'mb-1 block font-medium'}>
        {label}
      </label>
      {render({ id, describedBy })}
      {describedBy && (
        <p id={describedBy} className={`mt-1 text-xs ${problem ? 'text-bad' : 'text-muted'}`}>
          {problem ?? hint}
        </p>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  problem,
  isLabelHidden,
  ...input
}: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Field
      {...{ label, hint, problem, isLabelHidden: isLabelHidden ?? false }}
      render={({ id, describedBy }) => (
        <input id={id} aria-describedby={describedBy} aria-invalid={!!problem} className={control} {...input} />
      )}
    />
  );
}

export function TextArea({
  label,
  hint,
  problem,
  isLabelHidden,
  className = '',
  ...area
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Field
      {...{ label, hint, problem, isLabelHidden: isLabelHidden ?? false }}
      render={({ id, describedBy }) => (
        <textarea
          id={id}
          rows={4}
          aria-describedby={describedBy}
          aria-invalid={!!problem}
          className={`${control} ${className}`}
          {...area}
        />
      )}
    />
  );
}

export function SelectField({
  label,
  hint,
  problem,
  isLabelHidden,
  options,
  ...select
}: FieldProps & SelectHTMLAttributes<HTMLSelectElement> & { options: readonly { value: string; label: string }[] }) {
  return (
    <Field
      {...{ label, hint, problem, isLabelHidden: isLabelHidden ?? false }}
      render={({ id, describedBy }) => (
        <select id={id} aria-describedby={describedBy} aria-invalid={!!problem} className={control} {...select}>
          {options.map(({ value, label: text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    />
  );
}

export function CheckField({ label, ...input }: { label: ReactNode } & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <label className="mb-2 flex items-start gap-2">
      <input type="checkbox" className="mt-1 accent-accent-fill" {...input} />
      <span>{label}</span>
    </label>
  );
}
