import type { Client } from '@temporalio/client';
import { actionContract } from '../../src/temporal/contracts/integrations.ts';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { secrets } from '../operator.ts';
import { openProduct } from '../product.ts';
import { until } from '../until.ts';
import type { Keep } from './record-deliveries.ts';

/** Actions that the process of their caller begins, and those that it leaves to a worker; later ones, and failures. */
export async function recordActions(workflow: Client['workflow'], keep: Keep): Promise<void> {
  const product = await openProduct({ env: secrets });
  const both = await product.start(['api', 'runs', 'integrations']);
  const alone = await product.start(['api']);
  const { testKey } = await product.createTenant({ plan: 'enterprise' });
  const [here, elsewhere] = [both, alone].map(({ api }) => apiClient(api, testKey)) as [ApiClient, ApiClient];
  for (const id of ['slack', 'linkedin']) await connectInSandbox(here, both.api, id);

  const newest = async () => {
    const { rows } = await product.database.pool.query(
      'select id from integration_action order by created_at desc, id desc limit 1',
    );
    return jobWorkflowId(actionContract, rows[0].id);
  };
  const say = async (name: string, client: ApiClient, text: string) => {
    await client.post('/api/v1/integrations/slack/actions/send_message', { channel: 'C1', text });
    await keep(`performAction/${name}`, await newest());
  };
  const invite = async (delay: number) => {
    const target = { accountId: 'me', profileUrl: 'https://www.linkedin.com/in/ada-lovelace' };
    await here.post('/api/v1/integrations/linkedin/actions/send_connection', { ...target, delay });
    return newest();
  };
  // Slow enough for its workflow to be started: one that ends before has none.
  await say('begun', here, 'sandbox:slow=0.5');
  await say('begun-and-paused', here, 'sandbox:slow=0.5 sandbox:overloaded');
  await say('begun-and-failed', here, 'sandbox:slow=0.5 sandbox:fail');
  await say('asked', elsewhere, 'Hello');
  await say('asked-and-paused', elsewhere, 'sandbox:overloaded');
  await keep('performAction/later', await invite(1));
  const cancelled = await invite(3_600);
  await until('it is started', () =>
    workflow
      .getHandle(cancelled)
      .cancel()
      .then(
        () => true,
        () => false,
      ),
  );
  await keep('performAction/cancelled', cancelled);
  await product.close();
}
