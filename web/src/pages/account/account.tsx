import { useQueryClient } from '@tanstack/react-query';
import { signInAddress } from '../../api/account.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { useSession } from '../../session/context.tsx';
import { announceEnd } from '../../session/ended.ts';

const ways = [
  { href: '/api/auth/password', label: 'Set or change the password' },
  { href: '/api/auth/passkeys', label: 'Passkeys' },
  { href: '/api/auth/second-factor', label: 'Second factor' },
];

/** The person who has signed in. Passwords, passkeys and second factors have pages of their own. */
export default function Account() {
  const { account, api } = useSession();
  const queries = useQueryClient();
  const endAll = async () => {
    await api.account.sessions.revoke();
    queries.clear();
    announceEnd();
    location.assign(signInAddress('/app'));
  };
  return (
    <Page title="Your account">
      <Section title="You">
        <Facts
          facts={[
            ['Name', account.user.name || '–'],
            ['E-mail', account.user.email],
          ]}
        />
      </Section>
      <Section title="Organizations">
        <ul className="m-0">
          {account.organizations.map(({ id, name, role }) => (
            <li key={id}>
              {name}: {role}
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Signing in">
        <ul className="m-0">
          {ways.map(({ href, label }) => (
            <li key={href}>
              <a href={href}>{label}</a>
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Sessions">
        <ConfirmButton
          look="danger"
          question="End all of your sessions?"
          consequence="You are signed out everywhere, here too."
          confirmLabel="Sign out everywhere"
          onConfirm={endAll}
        >
          Sign out everywhere
        </ConfirmButton>
      </Section>
    </Page>
  );
}
