import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { RowWith } from '../platform/database/sql-types.ts';
import { declared } from '../platform/parts/declared-parts.ts';
import { type FindableRows, idIn, printedId, type SearchableRows } from '../platform/parts/findable.ts';

export interface Hit {
  type: string;
  /** With its prefix. */
  id: string;
  /** The resource that the path of the hit begins with, with its prefix; undefined where it begins with none. */
  parentId: string | undefined;
  title: string;
  at: Date;
}

export const maxHits = 20;

function select(
  { table }: FindableRows,
  { title, at, printedId = 'null', parentId = 'null', isShown = 'true' }: SearchableRows,
  condition: string,
): string {
  return `select r.id, ${printedId}::text as "printedId", ${parentId}::text as "parentId", ${title} as title, ${at} as at
      from ${table} r
    where r.organization_id = :organizationId and r.environment = :environment and ${condition} and ${isShown}
    order by r.id desc limit ${maxHits}`;
}

const row = { id: 'uuid', printedId: 'text?', parentId: 'text?', title: 'text', at: 'timestamptz' } as const;

/** Each kind of rows that callers find, with its statements. */
const searches = declared.findable.flatMap((rows) => {
  const { search } = rows;
  if (!search) return [];
  const byId = statement({
    name: `search.${rows.kind}`,
    parameters: { id: 'uuid' },
    row,
    text: select(rows, search, 'r.id = :id'),
  });
  const byText = Object.entries(search.by).map(([what, condition]) =>
    statement({
      name: `search.${rows.kind}.${what}`,
      parameters: { text: 'text' },
      row,
      text: select(rows, search, `(${condition})`),
    }),
  );
  return [{ rows, scope: search.scope, byId, byText }];
});

/**
 * What of a tenant has this id, was caused by this correlation id, or has this text in its name or as its attendee.
 * @param mayRead whether the caller has a scope: kinds of other scopes are not searched
 * @returns at most `maxHits`, those with the id first, then the newest of each kind
 */
export async function search(scope: Scope, text: string, mayRead: (scope: string) => boolean): Promise<Hit[]> {
  const hits = new Map<string, Hit>();
  const add = (rows: FindableRows, found: RowWith<typeof row>) => {
    const id = found.printedId ?? printedId(rows, found.id);
    const { title, at, parentId } = found;
    if (hits.size < maxHits) hits.set(id, { type: rows.kind, id, title, at, parentId: parentId ?? undefined });
  };
  const readable = searches.filter((one) => mayRead(one.scope));
  for (const { rows, byId } of readable) {
    const id = idIn(rows, text);
    const found = id === undefined ? undefined : await scope.one(byId, { id });
    if (found) add(rows, found);
  }
  for (const { rows, byText } of readable) {
    for (const of of byText) {
      if (hits.size < maxHits) for (const found of await scope.rows(of, { text })) add(rows, found);
    }
  }
  return [...hits.values()];
}
