import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { Environment } from '../../platform/tenant.ts';
import { isKept } from '../../tenancy/index.ts';
import { getApproval } from './approvals.ts';
import { hashOfToken } from './begin-approval.ts';
import type { ApprovalView } from './views.ts';

/** 256 bits in base64url. */
const tokenPattern = /^[\w-]{43}$/;

// The only look-up that knows no tenant: the token says which one it is.
const findByToken = systemStatement({
  name: 'approval_link.by_token',
  parameters: { hash: 'bytea' },
  row: {
    approvalId: 'uuid',
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    address: 'text',
  },
  text: `
    select approval_id as "approvalId", organization_id as "organizationId", environment, address from approval_link
     where token_hash = :hash and ${isKept('organization_id')}`,
});

const noPage = () => new AppError('not_found', 'This page does not exist.');

/** Whether a text could name a page. @throws AppError not_found */
export function checkToken(token: string): void {
  if (!tokenPattern.test(token)) throw noPage();
}

export interface ApprovalPage {
  scope: Scope;
  /** The address that the link was sent to. */
  address: string;
  approval: ApprovalView;
}

/** The page of an approver. Reading it changes nothing. @throws AppError not_found */
export async function findPage(database: Database, token: string, correlationId: string): Promise<ApprovalPage> {
  checkToken(token);
  const found = await sqlOn(database.pool).one(findByToken, { hash: hashOfToken(token) });
  if (!found) throw noPage();
  const { approvalId, address, ...tenant } = found;
  const scope = new Scope(database, tenant, correlationId, 'page');
  return { scope, address, approval: await getApproval(scope, approvalId) };
}
