/** One measure of a page as a browser sends it. */
export interface Beacon {
  name: string;
  value: number;
  /** Path of the page; '' when the browser did not say. */
  path: string;
}

/** LCP, INP, CLS and whatever else a page measures. */
export const vitalNamePattern = /^[A-Za-z][A-Za-z0-9_.-]{0,39}$/;
/** A path as a URL has it. */
export const vitalPathPattern = /^\/[\x21-\x7e]*$/;

const longestPage = 200;

const identifier = /^(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[a-z]{2,5}_[0-9a-f]{32})$/i;

/** Pages that differ in an id alone are one page: its path is the same for all, and names nothing of anybody. */
export function pageOf(path: string): string {
  const [page = ''] = path.split(/[?#]/);
  return page
    .split('/')
    .map((part) => (identifier.test(part) ? ':id' : part))
    .join('/')
    .slice(0, longestPage);
}

/** How many of the latest values a series keeps: its percentiles speak of these. */
export const keptValues = 500;
/** How many series there may be in all: browsers are not asked who they are. */
export const maxSeries = 200;

export interface Batch {
  name: string;
  path: string;
  values: number[];
  count: number;
}

/** Collects beacons by series until they are written, and no more of them than would be kept. */
export class VitalsBatch {
  readonly #series = new Map<string, Batch>();
  readonly #kept = new Set<string>();
  #strangers = 0;

  add({ name, path, value }: Beacon): void {
    const key = `${name} ${path}`;
    const known = this.#series.get(key);
    if (!known && !this.#kept.has(key)) {
      // However many new names somebody invents, the pages that are kept already have their place.
      if (this.#strangers >= maxSeries) return;
      this.#strangers++;
    }
    const series = known ?? { name, path, values: [], count: 0 };
    if (!known) this.#series.set(key, series);
    series.values.push(value);
    if (series.values.length > keptValues) series.values.shift();
    series.count++;
  }

  /** Says that a series has its place. */
  keep({ name, path }: Batch): void {
    if (this.#kept.size < maxSeries) this.#kept.add(`${name} ${path}`);
  }

  /** What was collected; the batch is empty then. */
  take(): Batch[] {
    const taken = [...this.#series.values()];
    this.#series.clear();
    this.#strangers = 0;
    return taken;
  }
}
