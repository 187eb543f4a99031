import type { TenantSql } from '../database/sql.ts';
import type { Sealer } from './crypto.ts';

/**
 * The sealed columns of a tenant's table, as JSON. Each value opens in its own row alone.
 * @typeParam Values what each column has
 */
export const sealedColumns =
  <Values extends object>(table: string) =>
  (sealer: Sealer, { tenant }: Pick<TenantSql, 'tenant'>) => {
    type Column = keyof Values & string;
    const placeOf = (rowId: string, column: Column) => ({ table, column, rowId, tenant });
    /** @param json as text */
    const sealJson = (rowId: string, column: Column, json: string): string => sealer.seal(json, placeOf(rowId, column));
    return {
      sealJson,
      seal: <Name extends Column>(rowId: string, column: Name, value: Values[Name]): string =>
        sealJson(rowId, column, JSON.stringify(value)),
      /** @throws SealError */
      open: <Name extends Column>(rowId: string, column: Name, sealed: string): Values[Name] =>
        JSON.parse(sealer.open(sealed, placeOf(rowId, column))),
    };
  };
