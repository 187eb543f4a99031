import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import type { RoleName } from '../../workers/roles.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { runningServers, temporaryFolder } from '../servers.ts';
import { CostWalk } from './cost-walk.ts';
import { Meter } from './meter.ts';

const soonRetried = fileURLToPath(new URL('./soon-retried.ts', import.meta.url));

const everything: RoleName[] = ['api', 'runs', 'generation', 'calendars', 'integrations', 'webhooks', 'housekeeping'];

/** A product in one process whose cost is measured, with one Free organization. */
export interface MeasuredProduct extends Product {
  process: ProductProcess;
  walk: CostWalk;
  organizationId: string;
  /** Keys of the test and the live environment, with every scope. */
  testKey: string;
  liveKey: string;
  api: ApiClient;
}

export async function startMeasured(env: Record<string, string> = {}): Promise<MeasuredProduct> {
  const product = await openProduct({ env: secrets, entryPoint: soonRetried });
  const meter = new Meter(temporaryFolder(runningServers().folder));
  const process = await product.start(everything, Object.assign({ NODE_OPTIONS: meter.option }, env));
  await meter.connect();
  // The walk asks more than a person would: what is counted by minute or day is not what it measures.
  const many = { rateMinute: 1_000_000, rateDay: 1_000_000_000 };
  const { id: organizationId } = await createOrganization(product.database, { name: 'Free', plan: 'free', ...many });
  const keyOf = async (environment: string) => (await createKey(product.database, { organizationId, environment })).key;
  const [testKey, liveKey] = [await keyOf('test'), await keyOf('live')];
  const rows = new pg.Client({ connectionString: product.ownerUrl });
  await rows.connect();
  const walk = new CostWalk(meter, rows);
  await walk.begin();
  return {
    ...product,
    process,
    walk,
    organizationId,
    testKey,
    liveKey,
    api: apiClient(process.api, testKey),
    async close() {
      meter.close();
      await rows.end();
      await product.close();
    },
  };
}
