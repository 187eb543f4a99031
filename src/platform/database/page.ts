/** A page of a list. `total` is the length of the whole list. */
export interface Page<T> {
  items: T[];
  total: number;
  limit: number;
  offset: number;
}

/** Selects a page of a list. */
export type PageRequest = Pick<Page<never>, 'limit' | 'offset'>;
