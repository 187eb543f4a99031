import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { SelectField } from '../../components/field.tsx';
import { FilterText } from '../../components/filter-text.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Loading, Page } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { RunLink } from '../../components/run-link.tsx';
import { Status } from '../../components/status.tsx';
import { Pager, Table } from '../../components/table.tsx';
import { Duration, Time } from '../../components/time.tsx';
import { TimeFilters } from '../../components/time-filters.tsx';
import { useSession } from '../../session/context.tsx';

const limit = 50;
const statuses = ['PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED'];
const causes = ['api', 'schedule', 'webhook', 'event', 'workflow', 'batch'];

/** Filters have the names of the API's parameters. */
const filterNames = [
  'workflowId',
  'status',
  'tag',
  'from',
  'to',
  'triggeredBy',
  'parentRunId',
  'batchId',
  'version',
  'errorCode',
  'correlationId',
  'test',
] as const;

/** Runs of all workflows, newest first. The list is read again while one of its runs has not ended. */
export default function RunList() {
  const { api, key } = useSession();
  const { filters, offset, set, setOffset } = useFilters(filterNames);
  const runs = useQuery({
    queryKey: key('runs', filters, offset),
    queryFn: ({ signal }) => api.runs.list({ ...filters, limit, offset }, { signal }).page(),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.items.some(({ status }) => status === 'RUNNING' || status === 'PENDING') ? 2_000 : 15_000,
  });
  return (
    <Page title="Runs">
      <search className="mb-4 grid grid-cols-2 gap-2 md:grid-cols-4 lg:grid-cols-6" aria-label="Filters">
        <SelectField
          label="Status"
          isLabelHidden
          value={filters.status ?? ''}
          onChange={({ target }) => set({ status: target.value || undefined })}
          options={[
            { value: '', label: 'Every status' },
            ...statuses.map((value) => ({ value, label: value.toLowerCase() })),
          ]}
        />
        <SelectField
          label="Started by"
          isLabelHidden
          value={filters.triggeredBy ?? ''}
          onChange={({ target }) => set({ triggeredBy: target.value || undefined })}
          options={[
            { value: '', label: 'Started by anything' },
            ...causes.map((value) => ({ value, label: `by ${value}` })),
          ]}
        />
        {(['workflowId', 'tag', 'errorCode', 'correlationId'] as const).map((name) => (
          <FilterText
            key={name}
            label={titles[name]}
            value={filters[name]}
            onChange={(value) => set({ [name]: value })}
          />
        ))}
        <TimeFilters from={filters.from} to={filters.to} onChange={set} />
      </search>
      {runs.error && <Problem error={runs.error} retry={() => void runs.refetch()} />}
      {runs.isPending && <Loading what="runs" />}
      {runs.data && runs.data.total === 0 && (
        <Empty title={Object.keys(filters).length > 0 ? 'No run matches these filters' : 'No runs yet'}>
          {Object.keys(filters).length > 0 ? (
            <button
              type="button"
              className="underline"
              onClick={() => set(Object.fromEntries(filterNames.map((name) => [name, undefined])))}
            >
              Remove the filters
            </button>
          ) : (
            <>
              A run is one execution of a workflow. <Link to={'/workflows' as '/runs'}>Open a workflow</Link> and run
              it.
            </>
          )}
        </Empty>
      )}
      {runs.data && runs.data.total > 0 && (
        <>
          <Table
            label="Runs"
            keyOf={({ id }) => id}
            rows={runs.data.items}
            columns={[
              { title: 'Status', cell: ({ status }) => <Status value={status} /> },
              { title: 'Run', cell: ({ id, workflowName }) => <RunLink id={id} workflowName={workflowName} /> },
              {
                title: 'Started by',
                isWideOnly: true,
                cell: ({ triggeredBy }) => triggeredBy?.type ?? '–',
              },
              { title: 'Tags', isWideOnly: true, cell: ({ tags }) => (tags ?? []).join(', ') },
              { title: 'Error', isWideOnly: true, cell: ({ error }) => <span className="text-bad">{error}</span> },
              {
                title: 'Tokens',
                isNumber: true,
                isWideOnly: true,
                cell: ({ tokensUsed }) => tokensUsed?.toLocaleString(),
              },
              {
                title: 'Duration',
                isNumber: true,
                isWideOnly: true,
                cell: ({ durationMs }) => <Duration ms={durationMs} />,
              },
              { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} isRelative /> },
            ]}
          />
          <Pager page={runs.data} limit={limit} offset={offset} onOffset={setOffset} />
        </>
      )}
    </Page>
  );
}

const titles = {
  workflowId: 'Id of a workflow',
  tag: 'Tag',
  errorCode: 'Error code',
  correlationId: 'Correlation id',
};
