import type { ReactNode } from 'react';
import type { Page } from '../../../sdk/typescript/src/index.ts';
import { totalText } from './counted.ts';

export interface Column<Row> {
  title: string;
  cell(row: Row): ReactNode;
  /** Numbers are aligned to the right. */
  isNumber?: boolean;
  /** Not shown on narrow screens. */
  isWideOnly?: boolean;
}

interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
}

/** A table that scrolls within itself where the screen is narrow. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  const hidden = (column: Column<Row>) => (column.isWideOnly ? 'hidden md:table-cell' : '');
  return (
    <div className="relative overflow-x-auto rounded-lg border border-line bg-surface">
      <table aria-label={label} className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b border-line text-xs text-muted">
            {columns.map((column) => (
              <th
                key={column.title}
                scope="col"
                className={`px-3 py-2 font-medium whitespace-nowrap ${column.isNumber ? 'text-right' : ''} ${hidden(column)}`}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} className="border-b border-line last:border-0 hover:bg-raised">
              {columns.map((column) => (
                <td
                  key={column.title}
                  className={`px-3 py-2 align-top ${column.isNumber ? 'text-right whitespace-nowrap tabular-nums' : 'min-w-24 md:min-w-28'} ${hidden(column)}`}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface PagerProps {
  page: Pick<Page<unknown>, 'items' | 'total' | 'totalIsExact' | 'hasMore'>;
  limit: number;
  offset: number;
  onOffset(offset: number): void;
}

/** Which part of a list is shown of how many, and the ways to its other parts where there are any. */
export function Pager({ page, limit, offset, onOffset }: PagerProps) {
  const { items, total, hasMore } = page;
  // What was behind the offset may be gone: the way back is to the last page that there is.
  const end = items.length === 0 ? Math.min(offset, Math.ceil(total / limit) * limit) : offset;
  const range = items.length === 0 ? 'None' : `${offset + 1} to ${offset + items.length} of ${totalText(page)}`;
  if (total <= limit && offset === 0) return <p className="mt-3 text-sm text-muted">{range}</p>;
  return (
    <nav aria-label="Pages" className="mt-3 flex items-center justify-between gap-3 text-sm text-muted">
      <span>{range}</span>
      <span className="flex gap-2">
        <button
          type="button"
          disabled={offset === 0}
          onClick={() => onOffset(Math.max(0, end - limit))}
          className="rounded border border-line px-2 py-1 text-ink disabled:opacity-50"
        >
          Previous
        </button>
        <button
          type="button"
          disabled={!hasMore}
          onClick={() => onOffset(offset + limit)}
          className="rounded border border-line px-2 py-1 text-ink disabled:opacity-50"
        >
          Next
        </button>
      </span>
    </nav>
  );
}

/** How many entries a list has that is shown as a whole. */
export const Whole = ({ of: items }: { of: readonly unknown[] }) => (
  <Pager
    page={{ items: [...items], total: items.length, totalIsExact: true, hasMore: false }}
    limit={items.length}
    offset={0}
    onOffset={() => {}}
  />
);
