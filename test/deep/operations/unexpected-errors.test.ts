import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { asOwner } from '../../as-owner.ts';
import { endOf, makeWorkflow } from '../../automation/make-workflow.ts';
import { secrets } from '../../operator.ts';
import { openProduct, type Product, type Tenant } from '../../product.ts';
import type { ProductProcess } from '../../product-process.ts';
import { runningServers } from '../../servers.ts';
import { creditsOf } from '../../studio/files.ts';
import { until } from '../../until.ts';

let product: Product;
let running: ProductProcess;
let connection: Connection;
beforeAll(async () => {
  product = await openProduct({ env: secrets });
  running = await product.start(['api', 'runs', 'generation', 'housekeeping']);
  await asOwner(
    product,
    `create function broken() returns trigger language plpgsql as $$ begin raise exception '${said}'; end $$`,
  );
  connection = await Connection.connect({ address: runningServers().temporalAddress });
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

const said = 'It is broken on purpose';

/** From now on such rows of a tenant cannot be written, for an unexpected reason. */
const breakTable = ({ organizationId }: Tenant, table: string, event: string, condition: string) =>
  asOwner(
    product,
    `
    create trigger broken before ${event} on ${table} for each row
      when (new.organization_id = '${organizationIds.parse(organizationId)}' and ${condition}) execute function broken()`,
  );
const mend = (table: string) => asOwner(product, `drop trigger broken on ${table}`);

/** How the workflow of this id ended, with the message of each cause. */
async function endInTemporal(part: string): Promise<string[]> {
  const client = new Client({ connection });
  const listed = client.workflow.list({ query: "ExecutionStatus = 'Failed'" });
  for await (const { workflowId } of listed) {
    if (!workflowId.includes(part)) continue;
    const failure = await client.workflow
      .getHandle(workflowId)
      .result()
      .catch((error) => error);
    const messages: string[] = [];
    for (let at = failure; at instanceof Error; at = at.cause as Error) messages.push(at.message);
    return messages;
  }
  return [];
}

// Together, each with a tenant of its own: five attempts wait for 15 seconds between them.
test.concurrent.each<[string, string, string, (api: ApiClient) => Promise<{ status: number; body: unknown }>]>([
  [
    'message',
    'messageId',
    'conversation_entry',
    (api) =>
      api.post('/api/chat', {
        messages: [{ role: 'user', content: 'sandbox:tool=memory_read_graph' }],
        mcpServers: ['memory'],
      }),
  ],
  ['generation', 'generationId', 'generation', (api) => api.post('/api/studio/generate', { prompt: 'A lighthouse' })],
  ['voice call', 'callId', 'file', (api) => api.post('/api/voice/tts', { text: 'Hello' })],
  [
    'run',
    'runId',
    'run_step_call',
    async (api) => {
      const step = { id: 'say', type: 'prompt', prompt: 'sandbox:tool=memory_read_graph', tools: ['memory'] };
      const { id } = await makeWorkflow(api, { steps: [step] });
      const { body } = await api.post(`/v1/workflows/${id}/execute`, { async: true }, { 'x-api-variant': 'A' });
      const ended = await endOf(api, body.data.runId);
      return { status: ended.status === 'failed' ? 500 : 200, body: ended };
    },
  ],
])(
  'an unexpected error fails a %s after five attempts, and says why where operators look',
  async (kind, name, table, ask) => {
    const tenant = await product.createTenant({ plan: 'pro' });
    const api = apiClient(running.api, tenant.testKey);
    const before = await creditsOf(api);
    if (table === 'generation') await breakTable(tenant, table, 'update', `new.status = 'completed'`);
    else await breakTable(tenant, table, 'insert', 'true');
    try {
      const { status, body } = await ask(api);
      expect([status, body]).toEqual([500, expect.anything()]);
      // Only the operator sees the cause.
      expect(JSON.stringify(body)).not.toContain(said);
    } finally {
      await mend(table);
    }
    const what = `${kind} failed: it keeps failing unexpectedly`;
    const find = () => running.log.find(({ msg }) => msg === what) as Record<string, unknown> | undefined;
    await until('it is in the log', async () => find() !== undefined);
    const line = find()!;
    expect(line).toMatchObject({ attempt: 5, err: { message: said } });
    const id = String(line[name]);
    await until('its workflow has failed', async () => (await endInTemporal(id)).includes(said));
    expect(await creditsOf(api)).toEqual(before);
  },
);

const givenUp = 'an event failed: it keeps failing unexpectedly';

test.concurrent.each(['event_start', 'run'])(
  'an event that cannot be decided, or whose runs cannot be created (%s), is given up after five attempts, and later ones are not',
  async (table) => {
    const tenant = await product.createTenant({ plan: 'pro' });
    const api = apiClient(running.api, tenant.testKey);
    const { id } = await makeWorkflow(api, { steps: [] });
    const triggers = `/api/v1/workflows/${id}/triggers`;
    await api.request('PUT', triggers, { triggers: [{ event: 'order.broken' }] });
    const send = () => api.post('/api/v1/events', { name: 'order.broken' });
    const organization = organizationIds.parse(tenant.organizationId);
    const isGivenUp = () =>
      running.log.some(
        (line) => line.msg === givenUp && 'organizationId' in line && line.organizationId === organization,
      );
    await breakTable(tenant, table, 'insert', 'true');
    try {
      expect((await send()).status).toBe(table === 'run' ? 202 : 500);
      await until('it is given up', async () => isGivenUp(), 120_000);
    } finally {
      await asOwner(product, `drop trigger broken on ${table}`);
    }
    if (table === 'run') {
      const [shown] = (await api.get(triggers)).body.data.triggers;
      expect(shown.lastSkipped).toMatchObject({ reason: 'internal_error' });
    }
    expect((await send()).body.data).toMatchObject({ started: 1 });
    await until('the next event starts a run', async () => {
      const { runs } = (await api.get(`/api/v1/workflows/${id}/runs`)).body.data;
      return runs.length === 1;
    });
  },
);
