import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Button } from '../../components/button.tsx';
import { Copy } from '../../components/copy.tsx';
import { counted } from '../../components/counted.ts';
import { Empty, Loading } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useSession } from '../../session/context.tsx';

const limit = 50;

/** The entries of the credit ledger, newest first. */
export function Statement() {
  const { api, key } = useSession();
  const credits = useQuery({ queryKey: key('credits'), queryFn: ({ signal }) => api.credits.get({ signal }) });
  const entries = useInfiniteQuery({
    queryKey: key('credit-entries'),
    queryFn: ({ pageParam, signal }) =>
      pageParam ? pageParam() : api.credits.entries.list({ limit }, { signal }).page(),
    initialPageParam: undefined as (() => Promise<never>) | undefined,
    getNextPageParam: ({ next }) => next as (() => Promise<never>) | undefined,
  });
  const rows = entries.data?.pages.flatMap(({ items }) => items) ?? [];
  if (entries.error) return <Problem error={entries.error} retry={() => void entries.refetch()} />;
  if (!entries.data) return <Loading what="the statement" />;
  return (
    <>
      {credits.data && <p className="mt-0 text-lg font-semibold">{counted(credits.data.balance, 'credit')} left</p>}
      {rows.length === 0 && <Empty title="No entries yet" />}
      {rows.length > 0 && (
        <Table
          label="Statement"
          rows={rows}
          keyOf={({ at, step, key: of }) => `${at} ${step} ${of}`}
          columns={[
            { title: 'When', cell: ({ at }) => <Time at={at} /> },
            { title: 'What', cell: ({ step, operation }) => `${step} ${operation ?? ''}`.replaceAll('_', ' ') },
            { title: 'Available', isNumber: true, cell: ({ available }) => available.toLocaleString() },
            { title: 'Reserved', isNumber: true, isWideOnly: true, cell: ({ reserved }) => reserved.toLocaleString() },
            { title: 'Spent', isNumber: true, cell: ({ spent }) => spent.toLocaleString() },
            { title: 'For', isWideOnly: true, cell: ({ key: of, reason }) => reason ?? <Copy text={of} isShort /> },
          ]}
        />
      )}
      {entries.hasNextPage && (
        <Button className="mt-3" isBusy={entries.isFetchingNextPage} onClick={() => void entries.fetchNextPage()}>
          Earlier entries
        </Button>
      )}
    </>
  );
}
