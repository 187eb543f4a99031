import { expect } from '@jest/globals';
import { addRedirect } from '../../src/connections/redirects.ts';
import type { RoleName } from '../../workers/roles.ts';
import { apiClient } from '../api-client.ts';
import { type FakeHubSpot, startFakeHubSpot } from '../fakes/hubspot.ts';
import { visit } from '../integrations/connect-in-sandbox.ts';
import { begin } from '../integrations/consents.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { soonNoticed } from './oracle.ts';

/** A product of its own whose HubSpot is a fake, and a tenant whose live keys are connected to it. */
export interface HubSpotScene {
  hubspot: FakeHubSpot;
  product: Product;
  tenant: Tenant;
  process: ProductProcess;
  /** Connects the live keys once more. @param api of the process that is asked */
  connect(api: string): Promise<void>;
  close(): Promise<void>;
}

/** @param more environment of its processes */
export async function openHubSpotScene(roles: RoleName[], more: Record<string, string> = {}): Promise<HubSpotScene> {
  const hubspot = await startFakeHubSpot();
  const env = {
    ...secrets,
    HUBSPOT_CLIENT_ID: hubspot.clientId,
    HUBSPOT_CLIENT_SECRET: hubspot.clientSecret,
    HUBSPOT_LOGIN_BASE_URL: hubspot.origin,
    HUBSPOT_BASE_URL: hubspot.origin,
    ...more,
  };
  const product = await openProduct({ entryPoint: soonNoticed, env });
  const [process, tenant] = [await product.start(roles), await product.createTenant({ plan: 'enterprise' })];
  const redirectUrl = 'https://app.example.com/integrated';
  await addRedirect(product.database, tenant.organizationId, redirectUrl, true);

  async function connect(api: string): Promise<void> {
    const { authUrl } = await begin(apiClient(api, tenant.liveKey), 'hubspot', { redirectUrl });
    const answered = await visit(await hubspot.consent(authUrl), api);
    expect(answered.headers.get('location')).toContain('status=connected');
  }
  await connect(process.api);

  return {
    hubspot,
    product,
    tenant,
    process,
    connect,
    async close() {
      await product.close();
      await hubspot.close();
    },
  };
}
