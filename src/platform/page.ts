/** Some of a list, and how long the whole of it is. */
export interface Page<T> {
  items: T[];
  total: number;
  limit: number;
  offset: number;
}

/** Which of a list. */
export type PageRequest = Pick<Page<never>, 'limit' | 'offset'>;
