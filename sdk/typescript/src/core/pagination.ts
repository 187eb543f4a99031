/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  /** How many items there are in all. The service counts the largest lists up to a limit. */
  total: number;
  /** Whether there are no more than `total`. */
  totalIsExact: boolean;
  hasMore: boolean;
  /** Reads the page after this one. Absent on the last page. */
  next?: () => Promise<Page<Item>>;
}

export type Query = Record<string, unknown>;

/** Reads the data of the page that a query selects. */
export type ReadPage = (query: Query) => Promise<unknown>;

interface Paging {
  total?: number;
  totalIsExact?: boolean;
  offset?: number;
  hasMore?: boolean;
  nextCursor?: string | null;
}

/** The query of the page after one, or undefined after the last. */
function queryAfter(query: Query, count: number, { total, offset, hasMore, nextCursor }: Paging): Query | undefined {
  if (nextCursor !== undefined) {
    if (nextCursor === null) return undefined;
    const { offset: _, ...kept } = query;
    return { ...kept, after: nextCursor };
  }
  // A list that is not paged is whole.
  if (offset === undefined || count === 0) return undefined;
  const next = offset + count;
  return (hasMore ?? next < (total ?? 0)) ? { ...query, offset: next } : undefined;
}

/**
 * A list of the service. Iterating over it reads page after page as they are needed:
 *
 *     for await (const run of atelier.runs.list({ status: 'FAILED' })) …
 */
export class List<Item> implements AsyncIterable<Item> {
  readonly #read: ReadPage;
  readonly #query: Query;
  readonly #member: string;

  /** @param member the member of the answer that contains the items */
  constructor(read: ReadPage, query: Query, member: string) {
    this.#read = read;
    this.#query = query;
    this.#member = member;
  }

  /** Reads one page: the one that the query selects. */
  page(): Promise<Page<Item>> {
    return this.#page(this.#query);
  }

  async #page(query: Query): Promise<Page<Item>> {
    const data = (await this.#read(query)) as Record<string, unknown>;
    const items = data[this.#member] as Item[];
    const paging = (data.pagination ?? data) as Paging;
    const next = queryAfter(query, items.length, paging);
    return {
      items,
      total: paging.total ?? items.length,
      totalIsExact: paging.totalIsExact ?? true,
      hasMore: next !== undefined,
      ...(next && { next: () => this.#page(next) }),
    };
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Item, void, undefined> {
    let page: Page<Item> | undefined = await this.page();
    while (page) {
      yield* page.items;
      page = await page.next?.();
    }
  }
}
