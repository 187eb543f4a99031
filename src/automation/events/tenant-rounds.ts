import type { QueryResultRow } from 'pg';
import type { Database } from '../../platform/database/database.ts';
import { type Statement, sqlOn } from '../../platform/database/sql.ts';
import type { Tenant } from '../../platform/tenant.ts';
import { tenantsPerRound } from './events-sql.ts';

interface AfterTenant {
  afterOrganizationId: string;
  afterEnvironment: string;
}

const beforeAll: AfterTenant = { afterOrganizationId: '00000000-0000-0000-0000-000000000000', afterEnvironment: '' };

const isLater = (one: Tenant, other: Tenant): boolean =>
  one.organizationId === other.organizationId
    ? one.environment > other.environment
    : one.organizationId > other.organizationId;

/**
 * Reads rows of tenants in rounds. Where there are more tenants than a round reads, the next one continues behind them, and
 * begins again at the end: each tenant has its turn, however many others always have work.
 */
export class TenantRounds<Row extends Tenant & QueryResultRow> {
  readonly #find: Statement<Row, AfterTenant>;
  #after = beforeAll;

  /** @param find reads rows of the first tenants after one, `tenantsPerRound` of them if there are as many */
  constructor(find: Statement<Row, AfterTenant>) {
    this.#find = find;
  }

  async next(database: Database): Promise<Row[]> {
    const rows = await sqlOn(database.pool).rows(this.#find, this.#after);
    if (rows.length === 0 && this.#after !== beforeAll) {
      this.#after = beforeAll;
      return this.next(database);
    }
    const tenants = new Set(rows.map(({ organizationId, environment }) => `${organizationId} ${environment}`));
    const isLast = tenants.size < tenantsPerRound;
    const last = isLast ? undefined : rows.reduce((latest, row) => (isLater(row, latest) ? row : latest));
    this.#after = last ? { afterOrganizationId: last.organizationId, afterEnvironment: last.environment } : beforeAll;
    return rows;
  }
}
