import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { sealedColumns } from './sealed-tokens.ts';

export const connectionsDeclarations: OperatorDeclarations = {
  name: 'connections',
  auditActions: { 'redirect.add': organizationIds, 'redirect.remove': organizationIds },
  sealed: [{ table: 'oauth_connection', columns: sealedColumns }],
};
