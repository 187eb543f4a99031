import { Link, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Filters } from '../layout/address.ts';

export interface Tab {
  name: string;
  title: string;
  content(): ReactNode;
}

/** Parts of a page, one of which is shown. The address selects it. */
export function Tabs({ tabs }: { tabs: readonly Tab[] }) {
  const search = useSearch({ strict: false }) as Filters;
  const shown = tabs.find(({ name }) => name === search.tab) ?? tabs[0]!;
  return (
    <>
      <nav aria-label="Parts of this page" className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map(({ name, title }) => (
          <Link
            key={name}
            to="."
            search={{ ...search, offset: undefined, tab: name } as never}
            replace
            aria-current={name === shown.name ? 'true' : undefined}
            className={`-mb-px border-b-2 px-3 py-2 whitespace-nowrap no-underline ${name === shown.name ? 'border-accent font-semibold text-accent' : 'border-transparent text-ink'}`}
          >
            {title}
          </Link>
        ))}
      </nav>
      {shown.content()}
    </>
  );
}
