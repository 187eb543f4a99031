import { z } from '@hono/zod-openapi';
import type { Page } from '../../src/platform/database/page.ts';
import type { ApiContext } from '../context.ts';

const integer = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : Number.NaN);

interface IntegerParameter {
  minimum: number;
  maximum: number;
  description: string;
}

/** An integer in a query. A repeated parameter arrives as an array and is refused. */
export const integerInQuery = (name: string, { minimum, maximum, description }: IntegerParameter) =>
  z
    .string()
    .transform(integer)
    .refine((value) => value >= minimum && value <= maximum, `Expected an integer from ${minimum} to ${maximum}.`)
    .optional()
    .openapi({ param: { name, in: 'query' }, type: 'integer', minimum, maximum, description });

/** PostgreSQL's integers end a little above this. */
const maxOffset = 2_000_000_000;

export const pageQuery = {
  limit: integerInQuery('limit', {
    minimum: 1,
    maximum: 100,
    description: 'Default 50 in dialect A, 20 in dialect B.',
  }),
  offset: integerInQuery('offset', { minimum: 0, maximum: maxOffset, description: 'Default 0.' }),
};

export const paginationSchema = z
  .object({ total: z.int(), limit: z.int(), offset: z.int(), hasMore: z.boolean() })
  .openapi('Pagination');

/** The query of a list, with the defaults of the request's dialect. */
export const withPageDefaults = <Query extends { limit?: number | undefined; offset?: number | undefined }>(
  c: ApiContext,
  query: Query,
) => ({ ...query, limit: query.limit ?? c.get('dialect').defaultLimit, offset: query.offset ?? 0 });

/** The schema of a list that both dialects show alike, under its published name. */
export const listSchema = <Name extends string, Item extends z.ZodType>(name: Name, item: Item) =>
  z.object({ [name]: z.array(item), pagination: paginationSchema } as Record<Name, z.ZodArray<Item>> & {
    pagination: typeof paginationSchema;
  });

export const paginationOf = ({ items, total, limit, offset }: Page<unknown>) => ({
  total,
  limit,
  offset,
  hasMore: offset + items.length < total,
});

export const flatPage = { total: z.int(), limit: z.int(), offset: z.int() };

/** The data of a `listSchema`. */
export const listOf = <Name extends string, Item, Shown>(name: Name, page: Page<Item>, show: (item: Item) => Shown) =>
  ({ [name]: page.items.map(show), pagination: paginationOf(page) }) as Record<Name, Shown[]> & {
    pagination: ReturnType<typeof paginationOf>;
  };
