import { useQuery, useQueryClient } from '@tanstack/react-query';
import { readIdentities, unlinkIdentity } from '../../api/account.ts';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useSession } from '../../session/context.tsx';
import { leaveAllWindows } from '../../session/ended.ts';

const ways = [
  { href: '/api/auth/password', label: 'Set or change the password' },
  { href: '/api/auth/passkeys', label: 'Passkeys' },
  { href: '/api/auth/second-factor', label: 'Second factor' },
];

/** The signed-in person. Passwords, passkeys and second factors have pages of their own. */
export default function Account() {
  const { account, api } = useSession();
  const queries = useQueryClient();
  const endAll = async () => {
    await api.account.sessions.revoke();
    leaveAllWindows(queries);
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
      <Identities />
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

/** Accounts at the OpenID provider; absent where the person has none. */
function Identities() {
  const queries = useQueryClient();
  const queryKey = ['identities'];
  const { data, error, refetch } = useQuery({ queryKey, queryFn: readIdentities });
  const unlink = async (id: string) => {
    await unlinkIdentity(id);
    notify('The identity has been unlinked.');
    await queries.invalidateQueries({ queryKey });
  };
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  if (!data || data.items.length === 0) return null;
  return (
    <Section title="Identities">
      <Table
        label="Identities"
        rows={data.items}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Provider',
            cell: ({ issuer, isUsable }) => (
              <>
                {new URL(issuer).host}
                {!isUsable && <span className="block text-xs text-muted">Can no longer sign you in</span>}
              </>
            ),
          },
          { title: 'Linked', cell: ({ createdAt }) => <Time at={createdAt} isRelative /> },
          {
            title: 'Actions',
            cell: ({ id, issuer }) => (
              <ConfirmButton
                look="danger"
                question={`Unlink the identity at ${new URL(issuer).host}?`}
                consequence="You can no longer sign in with this identity. It is linked again when you sign in there with the address of your account."
                confirmLabel="Unlink"
                onConfirm={() => unlink(id)}
              >
                Unlink
              </ConfirmButton>
            ),
          },
        ]}
      />
    </Section>
  );
}
