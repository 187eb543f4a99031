import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { readAccount } from '../api/account.ts';
import { Loading } from '../components/page.tsx';
import { Problem } from '../components/problem.tsx';
import { SessionProvider } from '../session/context.tsx';
import { isSignedOut } from '../session/ended.ts';
import {
  chosenOrganization,
  type Environment,
  includesRole,
  type Membership,
  rememberOrganization,
} from '../session/session.ts';
import { AccountMenu } from './account-menu.tsx';
import { pages } from './pages.ts';
import { SearchDialog } from './search-dialog.tsx';

/** The frame around every page: the signed-in person, the current page, and links to the others. */
export function Shell() {
  const { env = 'test' } = useSearch({ strict: false }) as { env?: Environment };
  const account = useQuery({ queryKey: ['account'], queryFn: readAccount });
  const [chosenId, setChosenId] = useState<string>();
  // What is on the page stays while the account cannot be read again: it may have forms in it.
  if (account.error && !account.data && !isSignedOut(account.error)) {
    return (
      <main className="mx-auto max-w-xl p-6">
        <Problem error={account.error} retry={() => void account.refetch()} />
      </main>
    );
  }
  if (!account.data) return <Loading what="Atelier" />;
  const { organizations } = account.data;
  const organization = organizations.find(({ id }) => id === chosenId) ?? chosenOrganization(organizations);
  if (!organization) {
    return (
      <main className="mx-auto max-w-xl p-6">
        <h1>No organization</h1>
        <p>You belong to no organization. Ask its owner for an invitation.</p>
      </main>
    );
  }
  const choose = (next: Membership) => {
    rememberOrganization(next.id);
    setChosenId(next.id);
  };
  return (
    <SessionProvider account={account.data} organization={organization} environment={env}>
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2">
        Skip to the content
      </a>
      <div className="md:grid md:min-h-dvh md:grid-cols-[13rem_1fr]">
        <header className="border-line bg-surface p-3 max-md:border-b md:sticky md:top-0 md:h-dvh md:overflow-y-auto md:border-r">
          <div className="mb-3 flex items-center justify-between gap-2">
            <Link to="/runs" className="text-base font-semibold text-ink no-underline">
              Atelier
            </Link>
            <SearchDialog />
          </div>
          <AccountMenu account={account.data} organization={organization} onChoose={choose} />
          <EnvironmentSwitch />
          <nav aria-label="Main" className="mt-3 flex gap-1 max-md:overflow-x-auto md:flex-col">
            {pages
              .filter(({ needs = 'viewer' }) => includesRole(organization.role, needs))
              .map(({ path, title }) => (
                <Link
                  key={path}
                  to={path as '/runs'}
                  search={env === 'live' ? { env } : {}}
                  className="rounded-md px-2.5 py-1.5 whitespace-nowrap text-ink no-underline hover:bg-raised aria-[current=page]:bg-raised aria-[current=page]:font-semibold"
                >
                  {title}
                </Link>
              ))}
          </nav>
        </header>
        <main id="content" tabIndex={-1} className="min-w-0 p-4 outline-none md:p-6" key={`${organization.id} ${env}`}>
          <Outlet />
        </main>
      </div>
    </SessionProvider>
  );
}

/** Test and live data are separate; the address selects one. */
function EnvironmentSwitch() {
  const { env = 'test' } = useSearch({ strict: false });
  const { pathname } = useLocation();
  return (
    <nav className="mt-2 flex gap-1" aria-label="Environment">
      {(['test', 'live'] as const).map((name) => (
        <Link
          key={name}
          to={pathname}
          search={{ env: name === 'live' ? 'live' : undefined }}
          aria-current={name === env ? 'true' : undefined}
          className={`flex-1 rounded-md border px-2 py-1 text-center text-xs no-underline ${name === env ? 'border-accent font-semibold text-accent' : 'border-line text-muted'}`}
        >
          {name === 'test' ? 'Test' : 'Live'}
        </Link>
      ))}
    </nav>
  );
}
