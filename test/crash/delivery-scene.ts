import { deliveryIds } from '../../src/webhooks/core/ids.ts';
import { defaultDeliveryPolicy, scaled } from '../../src/webhooks/dispatch/delivery-policy.ts';
import type { ProductOptions } from '../product.ts';
import { until } from '../until.ts';
import { openReceiver, type Received, type Receiver, type Reply, type Script } from '../webhooks/receiver.ts';
import { webhookEnv } from '../webhooks/scene.ts';
import { openScene, type Scene } from './oracle.ts';

/** Leases end after 13.5 s; an attempt has 9 s, for a machine that is busy with starting processes. */
const timeScale = 0.3;
export const deliveryPolicy = scaled(defaultDeliveryPolicy, timeScale);

/** A delivery as the database has it. */
export interface DeliveryRow {
  id: string;
  status: string;
  attempts: number;
  errorClass: string | null;
  /** Ms since the epoch. */
  nextAttemptAt: number | null;
}

export interface Subscribed {
  /** As the API says it. */
  id: string;
  path: string;
}

/** A product, its customer, and the customer's server. */
export interface DeliveryScene extends Scene {
  receiver: Receiver;
  /** Every request that arrived at any path. */
  requests(): Received[];
  /** Subscribes a path of its own, which answers by the script. */
  subscribe(api: string, script?: Script, fields?: object): Promise<Subscribed>;
  /** Sends a test to it. @returns the delivery's id, a uuid */
  sendTest(api: string, webhookId: string): Promise<string>;
  /** All deliveries, in the order in which they came to be. */
  rows(): Promise<DeliveryRow[]>;
  /** Waits until a delivery has this status. */
  reaches(deliveryId: string, status: string, withinMs?: number): Promise<DeliveryRow>;
  /** Asks the API for its replay. @returns the status of the answer */
  replay(api: string, webhookId: string, deliveryId: string): Promise<number>;
}

const findRows = `
  select id, status, attempts, error_class as "errorClass",
         (extract(epoch from next_attempt_at) * 1000)::float8 as "nextAttemptAt"
    from delivery order by created_at, id`;

export async function openDeliveryScene({ env, ...options }: ProductOptions = {}): Promise<DeliveryScene> {
  const [scene, receiver] = await Promise.all([
    openScene({ ...options, env: { ...webhookEnv, DELIVERY_TIME_SCALE: String(timeScale), ...env } }),
    openReceiver(),
  ]);
  const { product, caller } = scene;
  const paths: string[] = [];
  const rows = async () => (await product.database.pool.query<DeliveryRow>(findRows)).rows;
  return {
    ...scene,
    receiver,
    requests: () => paths.flatMap((path) => receiver.to(path)),
    async subscribe(api, script, fields = {}) {
      const path = `/hook-${paths.length + 1}`;
      paths.push(path);
      if (script) receiver.script(path, script);
      const body = { name: 'Ours', url: receiver.url(path), events: ['*'], ...fields };
      const answer = await caller.at(api).post('/v1/webhooks', body);
      if (answer.status !== 201) throw new Error(`Not subscribed: ${JSON.stringify(answer.body)}`);
      return { id: answer.body.data.id, path };
    },
    async sendTest(api, webhookId) {
      const { status, body } = await caller.at(api).post(`/v1/webhooks/${webhookId}/test`);
      if (status >= 300) throw new Error(`No test was sent: ${JSON.stringify(body)}`);
      return deliveryIds.parse(body.data.deliveryId)!;
    },
    rows,
    reaches: (deliveryId, status, withinMs) =>
      until(
        `a delivery is ${status}`,
        async () => {
          // A busy machine may refuse a connection: it is asked again.
          const row = (await rows().catch(() => [])).find(({ id }) => id === deliveryId);
          return row?.status === status && row;
        },
        withinMs,
      ),
    replay: async (api, webhookId, deliveryId) =>
      (await caller.at(api).post(`/v1/webhooks/${webhookId}/deliveries/${deliveryId}/replay`)).status,
  };
}

/** A scene of one test's own, for tests that run at the same time. */
export async function withDeliveries(
  act: (scene: DeliveryScene) => Promise<void>,
  options?: ProductOptions,
): Promise<void> {
  const scene = await openDeliveryScene(options);
  try {
    await act(scene);
  } finally {
    await scene.receiver.close();
    await scene.product.close();
  }
}

/** Answers in this order, and 200 from then on. */
export const answers =
  (...replies: (number | Reply)[]): Script =>
  (nth) => {
    const reply = replies[nth - 1] ?? 200;
    return typeof reply === 'number' ? { status: reply } : reply;
  };
