import { countOfTenant } from '../platform/parts/limit-use.ts';
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
  limitUse: {
    openActions: { used: countOfTenant("integration_action where status = 'processing' and") },
    scheduledActions: { used: countOfTenant("integration_action where status = 'scheduled' and") },
  },
  events: [integrationAuthExpired, ...triggerEvents],
  auditActions: {
    'integration.connect': integrationConnectionIds,
    'integration.disconnect': integrationConnectionIds,
    'integration.delayed_action': actionRunIds,
  },
  findable: findableIntegrations,
  sealed: [{ table: 'integration_connection', columns: sealedColumns }],
};
