import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { SearchHits } from '../../../sdk/typescript/src/index.ts';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/field.tsx';
import { Problem } from '../components/problem.tsx';
import { Time } from '../components/time.tsx';
import { useSession } from '../session/context.tsx';
import type { Filters } from './address.ts';

type SearchHit = SearchHits['hits'][number];

/** The viewer's day of an instant: `2026-11-25`, as Swedes write it. */
const localDate = (at: string) => new Date(at).toLocaleDateString('sv-SE');

/** Where each type of hit is shown: types without a page of their own open in a dialog of the page of their list. */
const addresses: Record<string, (hit: SearchHit) => { to: string; search?: Filters }> = {
  run: ({ id }) => ({ to: `/runs/${id}` }),
  workflow: ({ id }) => ({ to: `/workflows/${id}` }),
  webhook: ({ id }) => ({ to: `/webhooks/${id}` }),
  delivery: ({ id, parentId }) => ({ to: `/webhooks/${parentId}`, search: { delivery: id } }),
  booking: ({ id, at }) => ({ to: '/scheduling', search: { week: localDate(at), booking: id } }),
  event_type: ({ id }) => ({ to: '/scheduling', search: { tab: 'event-types', eventType: id } }),
  generation: ({ id }) => ({ to: '/studio', search: { tab: 'gallery', generation: id } }),
};

/** Finds anything by its id, its name or its correlation id. Ctrl-K opens it from every page, and Enter the first hit. */
export function SearchDialog() {
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState('');
  const { api, key } = useSession();
  const navigate = useNavigate();
  const query = text.trim();
  const found = useQuery({
    queryKey: key('search', query),
    queryFn: ({ signal }) => api.search.list({ q: query }, { signal }).page(),
    enabled: isOpen && query.length > 1,
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen(true);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  const follow = (hit: SearchHit) => {
    setOpen(false);
    setText('');
    void navigate((addresses[hit.type]?.(hit) ?? { to: '/runs' }) as never);
  };
  return (
    <>
      <button
        type="button"
        onClick={() => setOpen(true)}
        className="rounded border border-line px-2 py-1 text-xs text-muted"
        aria-keyshortcuts="Control+K"
      >
        Search <kbd className="font-mono">Ctrl K</kbd>
      </button>
      <Dialog title="Search" isOpen={isOpen} onClose={() => setOpen(false)}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const [first] = found.data?.items ?? [];
            if (first) follow(first);
          }}
        >
          <TextField
            label="Id, correlation id, name of a workflow or event type, or e-mail address"
            type="search"
            autoFocus
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        </form>
        {found.error && <Problem error={found.error} />}
        <ul aria-label="Results" className="m-0 list-none p-0" aria-live="polite">
          {found.data?.items.map((hit) => (
            <li key={`${hit.type} ${hit.id}`}>
              <button
                type="button"
                onClick={() => follow(hit)}
                className="flex w-full justify-between gap-3 rounded px-2 py-1.5 text-left hover:bg-raised"
              >
                <span className="min-w-0 truncate">
                  <span className="text-muted">{hit.type.replaceAll('_', ' ')}</span> {hit.title}
                </span>
                <Time at={hit.at} isRelative />
              </button>
            </li>
          ))}
        </ul>
        {found.data?.items.length === 0 && <p className="text-muted">Nothing was found.</p>}
      </Dialog>
    </>
  );
}
