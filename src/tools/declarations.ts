import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { toolConfigurationIds } from './core/ids.ts';

export const toolsDeclarations: OperatorDeclarations = {
  name: 'tools',
  auditActions: {
    'tool_server.configure': toolConfigurationIds,
    'tool_server.remove': toolConfigurationIds,
    'tool.call': organizationIds,
  },
  sealed: [{ table: 'tool_configuration', columns: ['sealed_secrets'] }],
};
