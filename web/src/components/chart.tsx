import { lazy, Suspense, useState } from 'react';
import { neededPart } from '../layout/upgrade.ts';
import type { ChartSeries, ChartTone } from './chart-series.ts';
import { type Column, Table } from './table.tsx';

interface ChartProps {
  /** A description of the chart, for the heading and for people who do not see it. */
  label: string;
  /** Names of the points from left to right: days, hours, or names of groups. */
  labels: readonly string[];
  series: readonly ChartSeries[];
  /** In pixels, 180 when absent. */
  height?: number;
  kind?: 'bars' | 'lines';
  /** Bars of one label are stacked, not drawn in front of each other. */
  isStacked?: boolean;
  /** What follows the numbers, `ms` for example. */
  unit?: string;
}

const swatches: Record<ChartTone, string> = {
  accent: 'bg-accent',
  good: 'bg-good',
  bad: 'bg-bad',
  warn: 'bg-warn',
  busy: 'bg-busy',
  muted: 'bg-muted',
};

/** The library of charts is no part of the first page. */
const ChartCanvas = lazy(neededPart(() => import('./chart-canvas.tsx')));

const shown = (value: number | null | undefined, unit: string | undefined): string =>
  value === null || value === undefined ? '–' : `${value.toLocaleString()}${unit ? ` ${unit}` : ''}`;

/**
 * A chart with its legend, and the same numbers as a table. Pass `labels` and `series` that stay the same while nothing
 * changes (`useMemo`): others are drawn anew.
 */
export function Chart({ label, labels, series, height = 180, kind = 'bars', isStacked = false, unit }: ChartProps) {
  const [point, setPoint] = useState<number | null>(null);
  const at = point !== null && point < labels.length ? point : null;
  const rows = labels.map((name, index) => ({ name, index }));
  const columns: Column<(typeof rows)[number]>[] = [
    { title: 'Point', cell: ({ name }) => name },
    ...series.map((one) => ({
      title: one.label,
      isNumber: true,
      cell: ({ index }: { index: number }) => shown(one.values[index], unit),
    })),
  ];
  return (
    <figure aria-label={label} className="m-0 min-w-0">
      <figcaption className="mb-1 flex flex-wrap items-baseline gap-x-4 gap-y-1 text-xs">
        <span className="font-medium">{label}</span>
        {series.map((one) => (
          <span key={one.label} className="flex items-baseline gap-1">
            <span aria-hidden="true" className={`inline-block size-2 rounded-sm ${swatches[one.tone]}`} />
            {one.label}
            {at !== null && <span className="tabular-nums">{shown(one.values[at], unit)}</span>}
          </span>
        ))}
        {at !== null && <span className="text-muted">{labels[at]}</span>}
      </figcaption>
      <Suspense fallback={<div style={{ minHeight: height }} />}>
        <ChartCanvas
          labels={labels}
          series={series}
          height={height}
          kind={kind}
          isStacked={isStacked}
          onPoint={setPoint}
        />
      </Suspense>
      <details className="mt-1 text-xs">
        <summary className="text-muted">The numbers of {label} as a table</summary>
        <div className="mt-2">
          <Table label={label} rows={rows} keyOf={({ index }) => String(index)} columns={columns} />
        </div>
      </details>
    </figure>
  );
}
