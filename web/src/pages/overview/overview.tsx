import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { totalText } from '../../components/counted.ts';
import { SelectField } from '../../components/field.tsx';
import { useFilters } from '../../components/filters.ts';
import { Facts, Loading, Page, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { RunLink } from '../../components/run-link.tsx';
import { Status } from '../../components/status.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useSession } from '../../session/context.tsx';
import { usageWindows } from '../usage/usage-data.ts';
import { UsageTotals } from '../usage/usage-totals.tsx';
import { OverviewCharts } from './charts.tsx';
import { LimitMeters } from './limit-meters.tsx';

const unitMs = { hour: 3_600_000, day: 86_400_000 };
const maxFailures = 100;

/** The state of the organization: runs, failures, credits and limits, and open approvals. */
export default function Overview() {
  const { filters, set } = useFilters(['window']);
  const window = usageWindows[filters.window ?? ''] ? filters.window! : '7d';
  const { unit, count } = usageWindows[window]!;
  // Rounded, so that the request stays the same while the page is open.
  const from = new Date(Math.floor((Date.now() - count * unitMs[unit]) / 60_000) * 60_000).toISOString();
  return (
    <Page
      title="Overview"
      actions={
        <SelectField
          label="Time"
          isLabelHidden
          value={window}
          onChange={({ target }) => set({ window: target.value })}
          options={Object.entries(usageWindows).map(([value, { label }]) => ({ value, label }))}
        />
      }
    >
      <Totals from={from} />
      <OverviewCharts window={usageWindows[window]!} />
      <UsageTotals />
      <LimitMeters />
      <Failures from={from} />
    </Page>
  );
}

function Totals({ from }: { from: string }) {
  const { api, key } = useSession();
  const count = (status?: 'COMPLETED' | 'FAILED' | 'RUNNING') => ({
    queryKey: key('run-count', from, status),
    queryFn: async ({ signal }: { signal: AbortSignal }) =>
      totalText(await api.runs.list({ from, ...(status && { status }), limit: 1 }, { signal }).page()),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });
  const all = useQuery(count());
  const completed = useQuery(count('COMPLETED'));
  const failed = useQuery(count('FAILED'));
  const running = useQuery(count('RUNNING'));
  const credits = useQuery({ queryKey: key('credits'), queryFn: ({ signal }) => api.credits.get({ signal }) });
  const inbox = useQuery({
    queryKey: key('approvals', 'open'),
    queryFn: async ({ signal }) =>
      totalText(await api.approvals.list({ status: 'pending', limit: 1 }, { signal }).page()),
  });
  const error = all.error ?? completed.error ?? failed.error ?? running.error ?? credits.error ?? inbox.error;
  return (
    <Section title="Now">
      {error && <Problem error={error} />}
      <Facts
        facts={[
          ['Runs', all.data ?? '…'],
          ['Completed', completed.data ?? '…'],
          [
            'Failed',
            <Link key="failed" to="/runs" search={{ status: 'FAILED', from } as never}>
              {failed.data ?? '…'}
            </Link>,
          ],
          ['Running', running.data ?? '…'],
          [
            'Waiting for an answer',
            <Link key="inbox" to="/inbox">
              {inbox.data ?? '…'}
            </Link>,
          ],
          ['Credits left', credits.data?.balance.toLocaleString() ?? '…'],
        ]}
      />
    </Section>
  );
}

/** The last failed runs, and how many of them had each error. */
function Failures({ from }: { from: string }) {
  const { api, key } = useSession();
  const failures = useQuery({
    queryKey: key('failures', from),
    queryFn: ({ signal }) => api.runs.list({ from, status: 'FAILED', limit: maxFailures }, { signal }).page(),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  const rows = failures.data?.items ?? [];
  return (
    <Section title="Failed runs">
      {failures.error && <Problem error={failures.error} />}
      {failures.isPending && <Loading what="failed runs" />}
      {failures.data?.items.length === 0 && <p className="m-0 text-muted">No run failed in this time.</p>}
      {rows.length > 0 && (
        <Table
          label="Failed runs"
          rows={rows.slice(0, 10)}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Status', cell: ({ status }) => <Status value={status} /> },
            { title: 'Run', cell: ({ id, workflowName }) => <RunLink id={id} workflowName={workflowName} /> },
            { title: 'Error', cell: ({ error }) => error },
            { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} isRelative /> },
          ]}
        />
      )}
    </Section>
  );
}
