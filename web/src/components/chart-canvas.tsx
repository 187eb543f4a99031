import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { ChartSeries, ChartTone } from './chart-series.ts';

/** The value of a color in the present theme: a canvas knows no variables of CSS. */
function colorOf(element: HTMLElement, tone: ChartTone | 'line'): string {
  element.style.color = `var(--${tone})`;
  return getComputedStyle(element).color;
}

/** Each series on top of those before it. */
function stack(series: readonly ChartSeries[], count: number): number[][] {
  const below = new Array<number>(count).fill(0);
  return series.map(({ values }) =>
    below.map((base, index) => {
      below[index] = base + (values[index] ?? 0);
      return below[index]!;
    }),
  );
}

/** The positions of the bars: one unit for each label. */
const fullRange = (count: number): [number, number] => [-0.5, Math.max(count, 1) - 0.5];

interface ChartCanvasProps {
  labels: readonly string[];
  series: readonly ChartSeries[];
  isStacked: boolean;
  height: number;
  kind: 'bars' | 'lines';
  /** The label under the pointer; null when it leaves. */
  onPoint(index: number | null): void;
}

/** The drawing part of the chart. It is loaded with the first visible chart. */
export default function ChartCanvas({ labels, series, isStacked, height, kind, onPoint }: ChartCanvasProps) {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current!;
    const count = labels.length;
    const probe = document.createElement('span');
    element.append(probe);
    const color = (tone: ChartTone | 'line') => () => colorOf(probe, tone);
    const values = isStacked
      ? stack(series, count)
      : series.map((one) => labels.map((_, at) => one.values[at] ?? null));
    // The tallest bar of a stack is drawn first, so that the lower ones are in front of it.
    const order = isStacked ? series.map((_, index) => index).toReversed() : series.map((_, index) => index);
    const axis = { stroke: color('muted'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: kind === 'lines' } },
        scales: {
          x: { time: false, range: () => fullRange(count) },
          y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.05] },
        },
        axes: [
          {
            stroke: axis.stroke,
            ticks: axis.ticks,
            grid: { show: false },
            space: 90,
            size: 28,
            incrs: [1, 2, 3, 4, 5, 6, 7, 10, 12, 14, 24, 30, 50, 100],
            values: (_, splits) => splits.map((at) => labels[at] ?? ''),
          },
          {
            stroke: axis.stroke,
            ticks: axis.ticks,
            grid: axis.grid,
            size: 56,
            incrs: [
              1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7, 1e8, 1e9,
            ],
            values: (_, splits) => splits.map((value) => value.toLocaleString(undefined, { notation: 'compact' })),
          },
        ],
        series: [
          {},
          ...order.map((index) => {
            const { label, tone } = series[index]!;
            const paths = kind === 'bars' ? uPlot.paths.bars!({ size: [0.7, 40] }) : undefined;
            const fill = kind === 'bars' ? color(tone) : undefined;
            return {
              label,
              stroke: color(tone),
              fill,
              paths,
              width: kind === 'bars' ? 0 : 2,
              points: { show: kind === 'lines' && count < 40, fill: color(tone) },
            };
          }),
        ],
        hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
      },
      [labels.map((_, index) => index), ...order.map((index) => values[index]!)],
      element,
    );
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    const redraw = () => chart.redraw();
    const theme = new MutationObserver(redraw);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const preference = matchMedia('(prefers-color-scheme: dark)');
    preference.addEventListener('change', redraw);
    return () => {
      preference.removeEventListener('change', redraw);
      theme.disconnect();
      resized.disconnect();
      chart.destroy();
      probe.remove();
    };
  }, [labels, series, isStacked, height, kind, onPoint]);
  return <div ref={frame} aria-hidden="true" className="min-w-0 overflow-hidden" style={{ minHeight: height }} />;
}
