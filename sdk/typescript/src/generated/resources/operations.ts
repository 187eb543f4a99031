// This file is generated from the OpenAPI document.

import { Resource } from '../../core/resource.ts';
import { OperationsVersion } from './operations-version.ts';
import { OperationsHealth } from './operations-health.ts';
import { OperationsReadiness } from './operations-readiness.ts';
import { OperationsAdminHealth } from './operations-admin-health.ts';
import { OperationsWebhookGateway } from './operations-webhook-gateway.ts';
import { OperationsVitals } from './operations-vitals.ts';

export class Operations extends Resource {
  readonly version = new OperationsVersion(this.transport);
  readonly health = new OperationsHealth(this.transport);
  readonly readiness = new OperationsReadiness(this.transport);
  readonly adminHealth = new OperationsAdminHealth(this.transport);
  readonly webhookGateway = new OperationsWebhookGateway(this.transport);
  readonly vitals = new OperationsVitals(this.transport);
}
