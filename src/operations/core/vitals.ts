/** One measurement of a page, as sent by a browser. */
export interface Beacon {
  name: string;
  value: number;
  /** Path of the page; '' when the browser did not send it. */
  path: string;
}

/** What browsers measure. Anybody may send a beacon, so other names are not kept. */
const vitals: ReadonlySet<string> = new Set(['LCP', 'CLS', 'INP', 'FCP', 'TTFB', 'FID']);
export const isVital = (name: string): boolean => vitals.has(name);

export const vitalNamePattern = /^[A-Za-z][A-Za-z0-9_.-]{0,39}$/;
/** The path of a URL. */
export const vitalPathPattern = /^\/[\x21-\x7e]*$/;

const maxPageLength = 200;

const identifier = /^(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[a-z]{2,5}_[0-9a-f]{32}|trg_.*)$/i;

/** Beacons are not authenticated: whatever shows a page's path must not meet markup in it. */
const outsidePages = /[^A-Za-z0-9/_.:-]/g;

/** Pages whose next segment is a token. */
const beforeTokens: ReadonlySet<string> = new Set(['/a', '/b', '/api/auth/link', '/api/auth/invitations']);

/** The page of a path: ids and tokens are replaced, so that pages are grouped and no id or secret is stored. */
export function pageOf(path: string): string {
  const [page = ''] = path.split(/[?#]/);
  return page
    .split('/')
    .map((part, at, parts) =>
      identifier.test(part) || (at > 1 && at < 5 && beforeTokens.has(parts.slice(0, at).join('/'))) ? ':id' : part,
    )
    .join('/')
    .replace(outsidePages, '')
    .slice(0, maxPageLength);
}

/** Number of latest values that a series keeps; percentiles are computed from these. */
export const keptValues = 500;
/** Maximum number of series. Beacons are not authenticated, so the table must be bounded. */
export const maxSeries = 200;

export interface Batch {
  name: string;
  path: string;
  values: number[];
  count: number;
}

/** Collects beacons by series until they are written, within the limits of storage. */
export class VitalsBatch {
  readonly #series = new Map<string, Batch>();
  readonly #stored = new Set<string>();
  #newSeries = 0;

  add({ name, path, value }: Beacon): void {
    const key = `${name} ${path}`;
    const existing = this.#series.get(key);
    if (!existing && !this.#stored.has(key)) {
      // Invented names use up only the room for new series; stored series are always accepted.
      if (this.#newSeries >= maxSeries) return;
      this.#newSeries++;
    }
    const series = existing ?? { name, path, values: [], count: 0 };
    if (!existing) this.#series.set(key, series);
    series.values.push(value);
    if (series.values.length > keptValues) series.values.shift();
    series.count++;
  }

  /** Marks a series as stored. */
  keep({ name, path }: Batch): void {
    if (this.#stored.size < maxSeries) this.#stored.add(`${name} ${path}`);
  }

  /** Returns the collected series and empties the batch. */
  take(): Batch[] {
    const taken = [...this.#series.values()];
    this.#series.clear();
    this.#newSeries = 0;
    return taken;
  }
}
