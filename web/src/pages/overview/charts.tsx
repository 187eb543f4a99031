import { useMemo } from 'react';
import { Chart } from '../../components/chart.tsx';
import type { ChartTone } from '../../components/chart-series.ts';
import { Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { type Amount, type UsageWindow, useUsageChart, useUsageGroups } from '../usage/usage-data.ts';

const amount = (label: string, tone: ChartTone, name: Amount) => ({
  label,
  tone,
  of: (group: { [Name in Amount]: number | null }) => group[name] ?? 0,
});

const runs = [amount('Created', 'accent', 'runs'), amount('Failed', 'bad', 'failedRuns')];
const credits = [amount('Credits', 'busy', 'credits')];
const tokens = [amount('Tokens', 'busy', 'tokens')];
const deliveries = [amount('Delivered', 'good', 'deliveries'), amount('Given up', 'bad', 'failedDeliveries')];

/** Runs, failures, credits, tokens and deliveries of a time. */
export function OverviewCharts({ window }: { window: UsageWindow }) {
  const groups = useUsageGroups(window, window.unit);
  const charts = [
    { label: 'Runs', ...useUsageChart(window, groups.data, runs) },
    { label: 'Credits', ...useUsageChart(window, groups.data, credits) },
    { label: 'Tokens', ...useUsageChart(window, groups.data, tokens) },
    { label: 'Deliveries', isStacked: true, ...useUsageChart(window, groups.data, deliveries) },
  ];
  return (
    <Section title="Activity">
      {groups.error && <Problem error={groups.error} />}
      <div className="grid gap-6 lg:grid-cols-2">
        {charts.map((chart) => (
          <Chart key={chart.label} {...chart} />
        ))}
        <FailureChart window={window} />
      </div>
    </Section>
  );
}

/** Failed runs by the code of their error. */
function FailureChart({ window }: { window: UsageWindow }) {
  const errors = useUsageGroups(window, 'error');
  const { labels, series } = useMemo(() => {
    const found = (errors.data ?? []).toSorted((one, other) => (other.failedRuns ?? 0) - (one.failedRuns ?? 0));
    return {
      labels: found.map(({ group }) => group.replaceAll('_', ' ')),
      series: [{ label: 'Failed runs', tone: 'bad' as const, values: found.map(({ failedRuns }) => failedRuns) }],
    };
  }, [errors.data]);
  if (errors.error) return <Problem error={errors.error} />;
  if (!errors.data) return <Loading what="failures" />;
  if (labels.length === 0) return <p className="m-0 text-muted">No run failed in this time.</p>;
  return <Chart label="Failed runs by error" labels={labels} series={series} />;
}
