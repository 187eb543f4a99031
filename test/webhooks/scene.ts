import { randomBytes } from 'node:crypto';
import { type ApiClient, apiClient, untilTaken } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { openProduct, type Product, sharedProduct, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { openReceiver, type Receiver, type Script } from './receiver.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says, and says so when it is wrong
type Body = any;

export const inA = { 'x-api-variant': 'A' };

export const webhookEnv = {
  SEALING_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  CRON_SECRET: 'c'.repeat(32),
  EGRESS_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
  // Retry 1 comes after 50 ms, 19 of them take hours still.
  DELIVERY_TIME_SCALE: '0.05',
};

/** A tenant with a server of its own, and the product between them. */
export interface SharedWebhookScene {
  product: Product;
  process: Pick<ProductProcess, 'api' | 'log'>;
  tenant: Tenant;
  api: ApiClient;
  receiver: Receiver;
  /** Subscribes the receiver's path, which answers by the script. */
  subscribe(fields?: object, script?: Script): Promise<Subscribed>;
  deliveries(webhookId: string, query?: string): Promise<Body[]>;
  /** Waits until the delivery of an event, by default of the first, has a status. */
  reaches(webhookId: string, status: string, eventType?: string): Promise<Body>;
  /** Runs a workflow of one step to its end. @returns the run's id */
  run(prompt?: string): Promise<string>;
  close(): Promise<void>;
}

/** The same with a product of its own, which may be stopped. */
export interface WebhookScene extends SharedWebhookScene {
  process: ProductProcess;
}

export interface Subscribed {
  id: string;
  secret: string;
  path: string;
}

export async function openWebhookScene(env: Record<string, string> = {}): Promise<WebhookScene> {
  const product = await openProduct({ env: { ...webhookEnv, ...env } });
  const [process, tenant, receiver] = await Promise.all([
    product.start(['api', 'runs', 'webhooks']),
    product.createTenant({ plan: 'enterprise' }),
    openReceiver(),
  ]);
  return { ...sceneOf(product, process, tenant, receiver), process };
}

/** For a file that only needs a tenant and a receiver of its own: others use the product at the same time. */
export async function sharedWebhookScene(): Promise<SharedWebhookScene> {
  const [product, receiver] = await Promise.all([sharedProduct('webhooks'), openReceiver()]);
  return sceneOf(product, product.process, product.tenant, receiver);
}

function sceneOf(
  product: Product,
  process: SharedWebhookScene['process'],
  tenant: Tenant,
  receiver: Receiver,
): SharedWebhookScene {
  const api = apiClient(process.api, tenant.testKey);
  let paths = 0;
  const deliveries = async (webhookId: string, query = ''): Promise<Body[]> => {
    const path = `/v1/webhooks/${webhookId}/deliveries?limit=100${query}`;
    return (await untilTaken('the deliveries are read', () => api.get(path))).body.data.deliveries;
  };
  return {
    product,
    process,
    tenant,
    api,
    receiver,
    deliveries,
    async subscribe(fields = {}, script) {
      const path = `/hook-${++paths}`;
      if (script) receiver.script(path, script);
      const body = { name: 'Ours', url: receiver.url(path), events: ['workflow.run.completed'], ...fields };
      const answer = await api.post('/v1/webhooks', body);
      if (answer.status !== 201) throw new Error(`Not subscribed: ${JSON.stringify(answer.body)}`);
      const { id, secret } = answer.body.data;
      return { id, secret, path };
    },
    reaches: (webhookId, status, eventType) =>
      until(`a delivery is ${status}`, async () => {
        const all: Body[] = await deliveries(webhookId, eventType ? `&eventType=${eventType}` : '');
        return all.find((delivery) => delivery.status === status);
      }),
    async run(prompt = '{{input}}') {
      const { id } = await makeWorkflow(api, prompt);
      const { body } = await api.post(`/v1/workflows/${id}/execute`, { inputs: {} }, inA);
      // A run that fails is an error to the caller that waits for it.
      return body.data?.runId ?? body.error.details.runId;
    },
    async close() {
      await receiver.close();
      await product.close();
    },
  };
}
