import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export interface Series {
  label: string;
  values: readonly (number | null)[];
  /** A color of the theme: `good`, `bad`, `accent`. */
  color: string;
}

export interface ChartProps {
  label: string;
  /** Instants, in seconds since the epoch. */
  times: readonly number[];
  series: readonly Series[];
}

const height = 180;

/** Values over time. A table of the same values stands beside it for those who cannot see it. */
export function Chart({ label, times, series }: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = holder.current!;
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(`--color-${name}`) || style.getPropertyValue(`--${name}`);
    const axis = { stroke: color('muted'), grid: { stroke: color('line') }, ticks: { stroke: color('line') } };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        cursor: { drag: { x: false, y: false } },
        legend: { live: false },
        axes: [axis, { ...axis, size: 60 }],
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max)] } },
        series: [
          {},
          ...series.map((one) => ({ label: one.label, stroke: color(one.color), width: 2, points: { show: false } })),
        ],
      },
      [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
      element,
    );
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [times, series]);
  return (
    <figure className="m-0">
      <figcaption className="mb-1 text-sm font-medium">{label}</figcaption>
      <div ref={holder} aria-hidden="true" className="min-h-44 w-full overflow-hidden" />
      <table className="sr-only">
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map((one) => (
              <th key={one.label} scope="col">
                {one.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((time, index) => (
            <tr key={time}>
              <td>{new Date(time * 1000).toISOString()}</td>
              {series.map((one) => (
                <td key={one.label}>{one.values[index]}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
