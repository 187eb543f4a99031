import type { ButtonHTMLAttributes } from 'react';

const looks = {
  primary: 'bg-accent-fill text-white hover:opacity-90 border-transparent',
  secondary: 'bg-surface text-ink border-line hover:bg-raised',
  danger: 'bg-surface text-bad border-line hover:bg-raised',
  plain: 'bg-transparent text-ink border-transparent hover:bg-raised',
} as const;

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: keyof typeof looks;
  /** While the action is under way the button is disabled and shows it. */
  isBusy?: boolean;
}

/** Classes of a button, for links that look like one. */
const buttonClass = (look: keyof typeof looks = 'secondary') =>
  `inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md border px-3 py-1 text-sm font-medium wrap-break-word disabled:opacity-50 ${looks[look]}`;

export function Button({ look = 'secondary', isBusy = false, className = '', disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      aria-busy={isBusy}
      disabled={disabled || isBusy}
      className={`${buttonClass(look)} ${className}`}
      {...rest}
    />
  );
}
