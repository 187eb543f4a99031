import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { sealedColumns } from './connections/sandbox-account.ts';
import { integrationAuthExpired } from './core/events.ts';
import { actionRunIds, integrationConnectionIds } from './core/ids.ts';
import { integrationLimits } from './core/limits.ts';
import { findableIntegrations } from './findable.ts';
import { triggerEvents } from './trigger-events.ts';

export const integrationsDeclarations: OperatorDeclarations = {
  name: 'integrations',
  scopes: [{ name: 'integrations', position: 80 }],
  limits: integrationLimits,
  events: [integrationAuthExpired, ...triggerEvents],
  auditActions: {
    'integration.connect': integrationConnectionIds,
    'integration.disconnect': integrationConnectionIds,
    'integration.delayed_action': actionRunIds,
  },
  findable: findableIntegrations,
  sealed: [{ table: 'integration_connection', columns: sealedColumns }],
};
