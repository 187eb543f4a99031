import { useSyncExternalStore } from 'react';
import { formatDuration } from './duration.ts';

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** @param seconds from now, negative for the past */
export function distance(seconds: number): string {
  const [unit, length] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  return relative.format(Math.trunc(seconds / length), unit);
}

const tickMs = 5_000;
const subscribe = (onTick: () => void) => {
  const timer = setInterval(onTick, tickMs);
  return () => clearInterval(timer);
};
const tick = () => Math.floor(Date.now() / tickMs);

/** How long it is to an instant, or since, while the page is open. */
function Distance({ to }: { to: Date }) {
  useSyncExternalStore(subscribe, tick);
  return distance((to.getTime() - Date.now()) / 1_000);
}

/** An instant in the viewer's zone, and in UTC on hover. */
export function Time({ at, isRelative = false }: { at: string | null | undefined; isRelative?: boolean }) {
  if (!at) return <span className="text-muted">–</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={`${date.toISOString()} (UTC)`} className="whitespace-nowrap">
      {isRelative ? <Distance to={date} /> : absolute.format(date)}
    </time>
  );
}

/** @param ms null while the duration is not known */
export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <span className="text-muted">–</span>;
  return <span className="whitespace-nowrap tabular-nums">{formatDuration(ms)}</span>;
}
