import { useInfiniteQuery } from '@tanstack/react-query';
import { Button } from '../../components/button.tsx';
import { Json } from '../../components/code.tsx';
import { Copy } from '../../components/copy.tsx';
import { FilterText } from '../../components/filter-text.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Loading, Page } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { TimeFilters } from '../../components/time-filters.tsx';
import { useSession } from '../../session/context.tsx';

const limit = 50;

/** Who changed what, newest first. */
export default function AuditLog() {
  const { api, key } = useSession();
  const { filters, set } = useFilters(['actor', 'action', 'from', 'to']);
  const entries = useInfiniteQuery({
    queryKey: key('audit', filters),
    queryFn: ({ pageParam, signal }) =>
      pageParam ? pageParam() : api.auditLog.list({ ...filters, limit }, { signal }).page(),
    initialPageParam: undefined as (() => Promise<never>) | undefined,
    getNextPageParam: ({ next }) => next as (() => Promise<never>) | undefined,
  });
  const rows = entries.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <Page title="Audit log">
      <search className="mb-4 grid max-w-2xl gap-2 md:grid-cols-2" aria-label="Filters">
        <FilterText
          label="Actor"
          placeholder="Id of a key or a person"
          value={filters.actor}
          onChange={(actor) => set({ actor })}
        />
        <FilterText
          label="Action"
          placeholder="Action: workflow.update"
          value={filters.action}
          onChange={(action) => set({ action })}
        />
        <TimeFilters from={filters.from} to={filters.to} onChange={set} />
      </search>
      {entries.error && <Problem error={entries.error} retry={() => void entries.refetch()} />}
      {entries.isPending && <Loading what="entries" />}
      {entries.data && rows.length === 0 && (
        <Empty title={entries.hasNextPage ? 'No entries found so far' : 'No entries'} />
      )}
      {rows.length > 0 && (
        <Table
          label="Audit log"
          rows={rows}
          keyOf={({ at, action, requestId, target }) => `${at} ${action} ${requestId} ${target?.type} ${target?.id}`}
          columns={[
            { title: 'When', cell: ({ at }) => <Time at={at} /> },
            { title: 'Who', cell: ({ actor }) => actor.name ?? actor.id ?? actor.type },
            { title: 'Action', cell: ({ action }) => <code className="font-mono text-xs">{action}</code> },
            {
              title: 'Target',
              cell: ({ target }) =>
                target ? (
                  <>
                    {target.type.replaceAll('_', ' ')} <Copy text={target.id} isShort />
                  </>
                ) : (
                  '–'
                ),
            },
            { title: 'Address', isWideOnly: true, cell: ({ ip }) => ip ?? '–' },
            {
              title: 'Changes',
              isWideOnly: true,
              cell: ({ changes, requestId }) =>
                changes.length > 0 && (
                  <details>
                    <summary>{changes.length}</summary>
                    <Json label={`Changes of request ${requestId}`} value={changes} />
                  </details>
                ),
            },
          ]}
        />
      )}
      {entries.hasNextPage && (
        <Button className="mt-3" isBusy={entries.isFetchingNextPage} onClick={() => void entries.fetchNextPage()}>
          Earlier entries
        </Button>
      )}
    </Page>
  );
}
