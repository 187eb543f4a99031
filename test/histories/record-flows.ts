import { runIds } from '../../src/automation/core/ids.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import type { ApiClient } from '../api-client.ts';
import { makeFlow } from '../automation/make-flow.ts';
import { until } from '../until.ts';

const compute = { id: 'one', type: 'transform', expression: '1' };
const ask = (prompt: string, more: object = {}) => ({ id: 'ask', type: 'prompt', prompt, ...more });
const each = (...steps: object[]) => ({ id: 'each', type: 'map', items: '[1, 2]', steps });
const wait = (time: string) => ({ id: 'nap', type: 'wait', for: time });

/** Runs of flows: steps that answer at once, calls, tools, retries, waits, a failure and a cancellation. */
export async function recordFlows(
  api: ApiClient,
  database: Database,
  keep: (name: string, workflowId: string) => Promise<void>,
): Promise<void> {
  const start = async (...steps: object[]) => {
    const id = await makeFlow({ database }, api, steps as Record<string, unknown>[]);
    const { body } = await api.post(`/api/v1/workflows/${id}/execute`, { inputs: {}, async: true });
    return runIds.parse(body.data.runId)!;
  };
  const record = async (name: string, ...steps: object[]) =>
    keep(`executeFlow/${name}`, runWorkflowId(await start(...steps)));
  await record('instant-steps', each(compute));
  await record('calls', each(ask('sandbox:slow=0.5')));
  await record('with-tools', each(ask('sandbox:slow=0.5 sandbox:tool=memory_read_graph', { tools: ['memory'] })));
  await record('long-retries', each(ask('sandbox:overloaded')));
  await record('failed', each(ask('sandbox:fail')));
  await record('waits', each(wait('PT1S')), wait('PT1S'));
  const waiting = await start(wait('P365D'));
  await until('it waits', async () => {
    const { rows } = await database.pool.query('select from run where id = $1 and waiting_since is not null', [
      waiting,
    ]);
    return rows.length > 0;
  });
  await api.post(`/api/v1/runs/${waiting}/cancel`, {});
  await keep('executeFlow/cancelled', runWorkflowId(waiting));
}
