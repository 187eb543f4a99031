import type { ButtonHTMLAttributes } from 'react';

const looks = {
  primary: 'bg-accent-fill text-white hover:opacity-90 border-transparent',
  secondary: 'bg-surface text-ink border-line hover:bg-raised',
  danger: 'bg-surface text-bad border-line hover:bg-raised',
  plain: 'bg-transparent text-ink border-transparent hover:bg-raised',
} as const;

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: keyof typeof looks;
  /** While the action is under way the button does nothing, and shows it. It keeps the focus, as a disabled one would not. */
  isBusy?: boolean;
}

/** Classes of a button, for links that look like one. */
const buttonClass = (look: keyof typeof looks = 'secondary') =>
  `inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md border px-3 py-1 text-sm font-medium wrap-break-word disabled:opacity-50 aria-disabled:opacity-50 ${looks[look]}`;

export function Button({ look = 'secondary', isBusy = false, className = '', onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      aria-busy={isBusy}
      aria-disabled={isBusy || undefined}
      onClick={(event) => {
        // Enter in a field of a form clicks the button of the form too.
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
      className={`${buttonClass(look)} ${className}`}
      {...rest}
    />
  );
}
