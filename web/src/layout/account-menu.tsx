import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FocusEvent, type KeyboardEvent, useRef, useState } from 'react';
import { signOut } from '../api/account.ts';
import { SelectField } from '../components/field.tsx';
import { Problem } from '../components/problem.tsx';
import { useAction } from '../components/use-action.ts';
import { leaveAllWindows } from '../session/ended.ts';
import type { Account, Membership } from '../session/session.ts';
import { applyTheme, chosenTheme, type Theme } from './theme.ts';

const item = 'rounded px-2 py-1.5 text-left text-ink no-underline hover:bg-raised';
const themes: Record<Theme, string> = { system: 'As the system', light: 'Light', dark: 'Dark' };

/** The organization that is shown, the person, and what concerns both. Escape and a click elsewhere close it. */
export function AccountMenu({
  account,
  organization,
  onChoose,
}: {
  account: Account;
  organization: Membership;
  onChoose(organization: Membership): void;
}) {
  const queries = useQueryClient();
  const menu = useRef<HTMLDetailsElement>(null);
  const [theme, setTheme] = useState(chosenTheme);
  const close = () => {
    menu.current!.open = false;
  };
  const leave = useAction(async () => {
    await signOut();
    leaveAllWindows(queries);
  });
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    close();
    menu.current!.querySelector('summary')!.focus();
  };
  const closeOutside = ({ currentTarget, relatedTarget }: FocusEvent) => {
    if (relatedTarget && !currentTarget.contains(relatedTarget)) close();
  };
  const chooseTheme = (chosen: Theme) => {
    applyTheme(chosen);
    setTheme(chosen);
  };
  return (
    <details ref={menu} className="relative" onKeyDown={closeOnEscape} onBlur={closeOutside}>
      <summary className="list-none rounded-md border border-line px-2.5 py-1.5 hover:bg-raised">
        <span className="block truncate font-medium">{organization.name}</span>
        <span className="block truncate text-xs text-muted">{account.user.email}</span>
      </summary>
      <div className="absolute z-40 mt-1 flex w-60 flex-col gap-1 rounded-md border border-line bg-surface p-2 shadow-lg">
        {account.organizations.length > 1 && (
          <SelectField
            label="Organization"
            value={organization.id}
            onChange={({ target }) => {
              onChoose(account.organizations.find(({ id }) => id === target.value)!);
              close();
            }}
            options={account.organizations.map(({ id, name, role }) => ({ value: id, label: `${name} (${role})` }))}
          />
        )}
        <SelectField
          label="Colors"
          value={theme}
          onChange={({ target }) => chooseTheme(target.value as Theme)}
          options={(Object.keys(themes) as Theme[]).map((value) => ({ value, label: themes[value] }))}
        />
        <Link to="/account" className={item} onClick={close}>
          Your account
        </Link>
        <button type="button" className={item} disabled={leave.isBusy} onClick={() => void leave.run()}>
          Sign out
        </button>
        {leave.error !== undefined && <Problem error={leave.error} />}
      </div>
    </details>
  );
}
