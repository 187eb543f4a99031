import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Chart } from '../../components/chart.tsx';
import type { ChartSeries } from '../../components/chart-series.ts';
import { SelectField } from '../../components/field.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Facts, Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Duration } from '../../components/time.tsx';
import { useSession } from '../../session/context.tsx';

const windows = [
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
] as const;
type StatisticsWindow = (typeof windows)[number]['value'];

const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: 'numeric', minute: '2-digit' });
const date = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: 'numeric' });
const formats: Record<StatisticsWindow, Intl.DateTimeFormat> = { '1h': time, '24h': time, '7d': day, '30d': date };

const percent = (share: number | null) => (share === null ? '–' : `${Math.round(share * 1_000) / 10} %`);

/** How attempts of one webhook ended, in figures and over time. The address says in which window. */
export function Statistics({ webhookId }: { webhookId: string }) {
  const { api, key } = useSession();
  const { filters, set } = useFilters(['window']);
  const window = windows.find(({ value }) => value === filters.window)?.value ?? '24h';
  const stats = useQuery({
    queryKey: key('webhook-stats', webhookId, window),
    queryFn: ({ signal }) => api.webhooks.stats(webhookId, { window }, { signal }),
    refetchInterval: 10_000,
    placeholderData: (before) => before,
  });
  const series = stats.data?.series;
  const labels = useMemo(() => (series ?? []).map(({ at }) => formats[window].format(new Date(at))), [series, window]);
  const lines = useMemo(
    (): ChartSeries[] => [
      { label: 'Succeeded', tone: 'good', values: (series ?? []).map(({ succeeded }) => succeeded) },
      { label: 'Failed', tone: 'bad', values: (series ?? []).map(({ failed }) => failed) },
    ],
    [series],
  );
  return (
    <Section
      title="Attempts"
      actions={
        <SelectField
          label="Window"
          isLabelHidden
          value={window}
          onChange={({ target }) => set({ window: target.value })}
          options={windows}
        />
      }
    >
      {stats.error && <Problem error={stats.error} retry={() => void stats.refetch()} />}
      {stats.isPending && <Loading what="the statistics" />}
      {stats.data && (
        <>
          <Facts
            facts={[
              ['Attempts', stats.data.attempts.toLocaleString()],
              ['Succeeded', stats.data.succeeded.toLocaleString()],
              ['Failed', stats.data.failed.toLocaleString()],
              ['Success rate', percent(stats.data.successRate)],
              ['Became dead letters', stats.data.deadLettered.toLocaleString()],
              ['Half took at most', <Duration key="p50" ms={stats.data.latencyMs.p50} />],
              ['95 % took at most', <Duration key="p95" ms={stats.data.latencyMs.p95} />],
              ...Object.entries(stats.data.byStatusClass).map(([name, count]): [string, string] => [
                name === 'error' ? 'Not answered' : `Answered ${name}`,
                count.toLocaleString(),
              ]),
            ]}
          />
          <div className="mt-4">
            {stats.data.attempts === 0 ? (
              <Empty title="No attempts in this time">
                Events that the webhook subscribes to are counted here. Tests and examples are not.
              </Empty>
            ) : (
              <Chart label="Attempts over time" labels={labels} series={lines} isStacked />
            )}
          </div>
        </>
      )}
    </Section>
  );
}
