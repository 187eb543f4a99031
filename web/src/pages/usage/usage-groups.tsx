import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Chart } from '../../components/chart.tsx';
import { SelectField } from '../../components/field.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Table } from '../../components/table.tsx';
import { useSession } from '../../session/context.tsx';
import { type Amount, type GroupBy, usageDays, useUsageGroups } from './usage-data.ts';

const groupings: Record<string, { label: string; column: string; charted: Amount; amounts: Amount[] }> = {
  day: {
    label: 'By day',
    column: 'Day (UTC)',
    charted: 'runs',
    amounts: ['requests', 'runs', 'failedRuns', 'tokens', 'credits', 'deliveries', 'failedDeliveries'],
  },
  workflow: { label: 'By workflow', column: 'Workflow', charted: 'runs', amounts: ['runs', 'failedRuns', 'tokens'] },
  model: { label: 'By model', column: 'Model', charted: 'tokens', amounts: ['tokens', 'credits'] },
  key: { label: 'By key', column: 'Key', charted: 'requests', amounts: ['requests', 'runs', 'tokens', 'credits'] },
  kind: {
    label: 'By kind',
    column: 'Kind',
    charted: 'credits',
    amounts: ['runs', 'failedRuns', 'tokens', 'credits', 'deliveries', 'failedDeliveries'],
  },
};

const titles: Record<Amount, string> = {
  requests: 'Requests',
  runs: 'Runs',
  failedRuns: 'Failed runs',
  tokens: 'Tokens',
  credits: 'Credits',
  deliveries: 'Deliveries',
  failedDeliveries: 'Deliveries given up',
};

/** Groups that a chart has room for. */
const maxCharted = 30;

/** Names of workflows and keys, where the first page of their list has them. */
function useNames(groupBy: string): Map<string, string> {
  const { api, key } = useSession();
  const workflows = useQuery({
    queryKey: key('workflow-names'),
    queryFn: async ({ signal }) => (await api.workflows.list({ limit: 100 }, { signal }).page()).items,
    enabled: groupBy === 'workflow',
  });
  const keys = useQuery({
    queryKey: key('key-names'),
    queryFn: async ({ signal }) => (await api.keys.list({ limit: 100 }, { signal }).page()).items,
    enabled: groupBy === 'key',
  });
  const items = (groupBy === 'workflow' ? workflows.data : groupBy === 'key' ? keys.data : undefined) ?? [];
  return new Map(items.map(({ id, name }) => [id, name]));
}

/** Usage by day or by another group. */
export function UsageGroups() {
  const { filters, set } = useFilters(['groupBy', 'window']);
  const groupBy = groupings[filters.groupBy ?? ''] ? filters.groupBy! : 'day';
  const window = usageDays[filters.window ?? ''] ? filters.window! : '30d';
  const { column, charted, amounts } = groupings[groupBy]!;
  const groups = useUsageGroups(usageDays[window]!, groupBy as GroupBy);
  const names = useNames(groupBy);
  const nameOf = (group: string) => names.get(group) ?? group;
  const rows = groups.data ?? [];
  // Drawn anew when what it shows has changed.
  const shown = JSON.stringify(rows.slice(0, maxCharted).map((row) => [nameOf(row.group), row[charted] ?? 0]));
  const { labels, series } = useMemo(() => {
    const points = JSON.parse(shown) as [string, number][];
    return {
      labels: points.map(([label]) => label),
      series: [{ label: titles[charted], tone: 'accent' as const, values: points.map(([, value]) => value) }],
    };
  }, [shown, charted]);
  const heading = `${titles[charted]} ${groupings[groupBy]!.label.toLowerCase()}`;
  return (
    <Section
      title="Groups"
      actions={
        <>
          <SelectField
            label="Group by"
            isLabelHidden
            value={groupBy}
            onChange={({ target }) => set({ groupBy: target.value })}
            options={Object.entries(groupings).map(([value, { label }]) => ({ value, label }))}
          />
          <SelectField
            label="Time"
            isLabelHidden
            value={window}
            onChange={({ target }) => set({ window: target.value })}
            options={Object.entries(usageDays).map(([value, { label }]) => ({ value, label }))}
          />
        </>
      }
    >
      {groups.error && <Problem error={groups.error} retry={() => void groups.refetch()} />}
      {!groups.data && !groups.error && <Loading what="usage" />}
      {groups.data && rows.length === 0 && <Empty title="Nothing was used in this time" />}
      {rows.length > 0 && (
        <>
          <Chart label={heading} labels={labels} series={series} />
          <div className="mt-4">
            <Table
              label="Usage by group"
              rows={rows}
              keyOf={({ group }) => group}
              columns={[
                { title: column, cell: ({ group }) => nameOf(group) },
                ...amounts.map((amount) => ({
                  title: titles[amount],
                  isNumber: true,
                  cell: (row: (typeof rows)[number]) => row[amount]?.toLocaleString() ?? '–',
                })),
              ]}
            />
          </div>
        </>
      )}
    </Section>
  );
}
