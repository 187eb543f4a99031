import { clock } from '../platform/clock.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { declared } from '../platform/parts/declared-parts.ts';

/** The database's data about a limit. */
interface UsedOfLimit {
  /** Null: not counted. */
  used: number | null;
  /** A number of the organization that counts in place of the plan's. */
  allowed: number | null;
  resetsAt: Date | null;
}

const counted = [...declared.limitUse];
const columnOf = (index: number, what: 'used' | 'left' | 'allowed') => `${what}${index}`;
const columns = counted.flatMap(([, use], index) =>
  (['used', 'left', 'allowed'] as const).flatMap((what) => {
    const expression = use[what];
    return expression === undefined ? [] : [{ name: columnOf(index, what), expression }];
  }),
);

const readUse = statement({
  name: 'limits.used',
  row: Object.fromEntries(columns.map(({ name }) => [name, 'float8?' as const])),
  text: `select ${columns.map(({ name, expression }) => `${expression}::float8 as "${name}"`).join(',\n          ')}`,
});

const beginningOfNext = (unit: 'day' | 'month', now: Date): Date =>
  unit === 'day'
    ? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1))
    : new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));

/**
 * How much of the limits of its plan a tenant uses, by the names of the limits. Credits and deliveries lag by some seconds.
 * @param allowedOf the number of the plan
 */
export async function limitUse(
  scope: Scope,
  allowedOf: (name: string) => number,
  now = clock.date(),
): Promise<ReadonlyMap<string, UsedOfLimit>> {
  const row: Record<string, number | null | undefined> = (await scope.one(readUse))!;
  return new Map(
    counted.map(([name, { left, resets }], index) => {
      const allowed = row[columnOf(index, 'allowed')] ?? null;
      const plan = allowed ?? allowedOf(name);
      const used = left
        ? Math.max(0, plan - (row[columnOf(index, 'left')] ?? plan))
        : (row[columnOf(index, 'used')] ?? 0);
      return [name, { used, allowed, resetsAt: resets ? beginningOfNext(resets, now) : null }];
    }),
  );
}
