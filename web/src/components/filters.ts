import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Filters } from '../layout/address.ts';

interface PageFilters {
  /** The values in the address, by the names of the API's parameters. */
  filters: Filters;
  offset: number;
  /** Changes filters in the address, and goes to the first page of the list. */
  set(changed: Filters): void;
  setOffset(offset: number): void;
}

/** The filters of a list, which are kept in the address of its page. */
export function useFilters(names: readonly string[]): PageFilters {
  const search = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const go = (changed: Filters) =>
    void navigate({ to: '.', search: { ...search, ...changed } as never, replace: true });
  const offset = Number(search.offset ?? 0);
  return {
    filters: Object.fromEntries(names.flatMap((name) => (search[name] ? [[name, search[name]]] : []))),
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
    set: (changed) => go({ offset: undefined, ...changed }),
    setOffset: (next) => go({ offset: next === 0 ? undefined : String(next) }),
  };
}

/**
 * The part of a page that is shown in a dialog: its id is in the address, so that a link opens it.
 * @param name of the parameter in the address
 */
export function useShown(name: string): [id: string | undefined, show: (id: string | undefined) => void] {
  const search = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const show = (id: string | undefined) =>
    void navigate({ to: '.', search: { ...search, [name]: id } as never, replace: true });
  return [search[name], show];
}
