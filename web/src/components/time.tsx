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

/** An instant in the viewer's zone, and in UTC on hover. */
export function Time({ at, isRelative = false }: { at: string | null | undefined; isRelative?: boolean }) {
  if (!at) return <span className="text-muted">–</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={`${date.toISOString()} (UTC)`} className="whitespace-nowrap">
      {isRelative ? distance((date.getTime() - Date.now()) / 1000) : absolute.format(date)}
    </time>
  );
}

/** @param ms null while the duration is not known */
export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <span className="text-muted">–</span>;
  return <span className="whitespace-nowrap tabular-nums">{formatDuration(ms)}</span>;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
