import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { searchAttributes } from '../../../src/temporal/contracts/search-attributes.ts';
import { apiClient } from '../../api-client.ts';
import { makeWorkflow } from '../../automation/make-workflow.ts';
import { runCli } from '../../cli/run-cli.ts';
import { asOperator, secrets } from '../../operator.ts';
import { openProduct, type Product } from '../../product.ts';
import { runningServers } from '../../servers.ts';
import { until } from '../../until.ts';

const namespace = 'without-search-attributes';
const names = Object.values(searchAttributes);
let connection: Connection;
let product: Product;
beforeAll(async () => {
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs('30 days'),
  });
  product = await openProduct({ env: { ...secrets, TEMPORAL_NAMESPACE: namespace } });
});
afterAll(async () => {
  await product.close();
  await connection.close();
});

const migrate = async () => {
  const { exitCode, stdout } = await runCli(['migrate', '--json'], {
    DATABASE_URL: product.databaseUrl,
    MIGRATION_DATABASE_URL: product.ownerUrl,
    TEMPORAL_ADDRESS: runningServers().temporalAddress,
    TEMPORAL_NAMESPACE: namespace,
  });
  expect(exitCode).toBe(0);
  return JSON.parse(stdout);
};

test('a namespace without the search attributes is reported, and migrate registers them', async () => {
  await until('the server knows the namespace', async () =>
    connection.workflowService.countWorkflowExecutions({ namespace }).catch(() => undefined),
  );
  const process = await product.start(['api']);
  const open = apiClient(process.api);
  const notReady = await open.get('/api/ready');
  expect(notReady).toMatchObject({ status: 503, body: { ready: false, checks: { temporal: 'failed' } } });
  // Callers do not see what is missing, operators do.
  expect(JSON.stringify(notReady.body)).not.toContain(names[0]);
  // An answer that takes longer than half a second on a busy machine is another problem; the next one counts.
  const problem = await until('an operator sees what to do', async () => {
    const { ok, problem: found = '' } = (await open.get('/api/admin/health', asOperator)).body.checks.temporal;
    return !ok && found.includes('npm run migrate') && (found as string);
  });
  for (const name of names) expect(problem).toContain(name);
  const line = await until('it is logged', async () => process.log.find(({ missing }) => missing));
  expect(line).toMatchObject({ level: 50, namespace, missing: names });

  expect((await migrate()).searchAttributes.sort()).toEqual([...names].sort());
  await until('the process is ready', async () => (await open.get('/api/ready')).status === 200);
  expect((await migrate()).searchAttributes).toEqual([]);

  // And runs are executed there.
  await product.start(['runs']);
  const { testKey } = await product.createTenant();
  const api = apiClient(process.api, testKey);
  const { id } = await makeWorkflow(api);
  expect(await api.post(`/api/v1/workflows/${id}/execute`, { input: 'x' })).toMatchObject({
    status: 200,
    body: { data: { status: 'COMPLETED' } },
  });
}, 180_000);

test('migrate says why it could not prepare Temporal, and has migrated the database', async () => {
  const { exitCode, stdout } = await runCli(['migrate', '--json'], {
    DATABASE_URL: product.databaseUrl,
    MIGRATION_DATABASE_URL: product.ownerUrl,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
  });
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ migrated: [], temporalProblem: expect.stringMatching(/\w/) });
});
