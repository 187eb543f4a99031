import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { ChartSeries, ChartTone } from '../../components/chart-series.ts';
import { useSession } from '../../session/context.tsx';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** A time up to now, with the unit in which charts show it. */
export interface UsageWindow {
  label: string;
  unit: 'hour' | 'day';
  /** How many units, the present one included. */
  count: number;
}

export const usageWindows: Record<string, UsageWindow> = {
  '24h': { label: '24 hours', unit: 'hour', count: 24 },
  '7d': { label: '7 days', unit: 'day', count: 7 },
  '30d': { label: '30 days', unit: 'day', count: 30 },
};

/** Times of whole days, for what is counted by day. */
export const usageDays: Record<string, UsageWindow> = {
  today: { label: 'Today (UTC)', unit: 'day', count: 1 },
  '7d': { label: '7 days', unit: 'day', count: 7 },
  '30d': { label: '30 days', unit: 'day', count: 30 },
  '90d': { label: '90 days', unit: 'day', count: 90 },
};

const unitMs = ({ unit }: UsageWindow): number => (unit === 'hour' ? hourMs : dayMs);

/** The beginnings of the hours or days of a window, in UTC, as `GET /usage` names its groups. */
function groupsOf(window: UsageWindow, now = Date.now()): string[] {
  const ms = unitMs(window);
  const last = Math.floor(now / ms) * ms;
  return Array.from({ length: window.count }, (_, index) => {
    const at = new Date(last - (window.count - 1 - index) * ms).toISOString();
    return window.unit === 'hour' ? at : at.slice(0, 10);
  });
}

/** From the first group to the end of the last one. */
function spanOf(groups: readonly string[], window: UsageWindow): { from: string; to: string } {
  const end = Date.parse(groups.at(-1)!) + unitMs(window);
  return { from: new Date(groups[0]!).toISOString(), to: new Date(end).toISOString() };
}

type Group = NonNullable<Awaited<ReturnType<ReturnType<typeof useSession>['api']['usage']['get']>>['groups']>[number];
export type Amount = Exclude<keyof Group, 'group'>;
export type GroupBy = 'day' | 'workflow' | 'model' | 'key' | 'kind' | 'hour' | 'error';

/** The groups of a window, read again while the page is open. */
export function useUsageGroups(window: UsageWindow, groupBy: GroupBy): UseQueryResult<Group[]> {
  const { api, key } = useSession();
  const { from, to } = spanOf(groupsOf(window), window);
  return useQuery({
    queryKey: key('usage', groupBy, from, to),
    queryFn: async ({ signal }) => (await api.usage.get({ from, to, groupBy }, { signal })).groups ?? [],
    refetchInterval: 15_000,
  });
}

const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
// A day of usage is one of UTC.
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });

interface UsageChart {
  labels: string[];
  series: ChartSeries[];
}

/** Amounts over a window, with a point for each hour or day. */
export function useUsageChart(
  window: UsageWindow,
  groups: readonly Group[] | undefined,
  amounts: readonly { label: string; tone: ChartTone; of(group: Group): number }[],
): UsageChart {
  return useMemo(() => {
    const names = groupsOf(window);
    const byName = new Map(groups?.map((group) => [group.group, group]));
    const format = window.unit === 'hour' ? hour : day;
    return {
      labels: names.map((name) => format.format(new Date(name))),
      series: amounts.map(({ label, tone, of }) => ({
        label,
        tone,
        values: names.map((name) => {
          const group = byName.get(name);
          return group ? of(group) : 0;
        }),
      })),
    };
  }, [window, groups, amounts]);
}
