import { Menu } from '@base-ui/react/menu';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { signInAddress, signOut } from '../api/account.ts';
import { announceEnd } from '../session/ended.ts';
import type { Account, Membership } from '../session/session.ts';
import { applyTheme, chosenTheme, type Theme } from './theme.ts';

const item = 'cursor-pointer rounded px-3 py-1.5 text-left outline-none data-[highlighted]:bg-raised';
const themes: Record<Theme, string> = { system: 'As the system', light: 'Light', dark: 'Dark' };

/** The organization that is shown, the person, and what concerns both. */
export function AccountMenu({
  account,
  organization,
  onChoose,
}: {
  account: Account;
  organization: Membership;
  onChoose(organization: Membership): void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const leave = async () => {
    await signOut();
    queries.clear();
    announceEnd();
    location.assign(signInAddress('/app'));
  };
  return (
    <Menu.Root>
      <Menu.Trigger className="w-full rounded-md border border-line px-2.5 py-1.5 text-left hover:bg-raised">
        <span className="block truncate font-medium">{organization.name}</span>
        <span className="block truncate text-xs text-muted">{account.user.email}</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="start" sideOffset={4} className="z-40">
          <Menu.Popup className="flex min-w-52 flex-col rounded-md border border-line bg-surface p-1 shadow-lg outline-none">
            {account.organizations.length > 1 && (
              <Menu.RadioGroup
                value={organization.id}
                onValueChange={(id) => onChoose(account.organizations.find((one) => one.id === id)!)}
              >
                {account.organizations.map(({ id, name, role }) => (
                  <Menu.RadioItem key={id} value={id} className={item}>
                    {name} <span className="text-xs text-muted">{role}</span>
                  </Menu.RadioItem>
                ))}
                <Menu.Separator className="my-1 h-px bg-line" />
              </Menu.RadioGroup>
            )}
            <Menu.RadioGroup value={chosenTheme()} onValueChange={applyTheme}>
              {(Object.keys(themes) as Theme[]).map((theme) => (
                <Menu.RadioItem key={theme} value={theme} className={item}>
                  Colors: {themes[theme]}
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Separator className="my-1 h-px bg-line" />
            <Menu.Item className={item} onClick={() => void navigate({ to: '/account' as never })}>
              Your account
            </Menu.Item>
            <Menu.Item className={item} onClick={() => void leave()}>
              Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
