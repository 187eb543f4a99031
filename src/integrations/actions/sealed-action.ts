import type { Sealer } from '../../platform/crypto.ts';
import type { TenantSql } from '../../platform/sql.ts';

type Column = 'payload' | 'answer';

/** Seals what was sent and answered, and opens it again. Each text opens in its own row alone. @throws SealError */
export const actionContents = (sealer: Sealer, { tenant }: Pick<TenantSql, 'tenant'>) => {
  const placeOf = (rowId: string, column: Column) => ({ table: 'integration_action', column, rowId, tenant });
  return {
    /** @param json as text */
    seal: (actionId: string, column: Column, json: string): string => sealer.seal(json, placeOf(actionId, column)),
    open: (actionId: string, column: Column, sealed: string): unknown =>
      JSON.parse(sealer.open(sealed, placeOf(actionId, column))),
  };
};
