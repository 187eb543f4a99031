import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import {
  deliveryMessages,
  deliveryWorkflowId,
  webhookMessages,
  webhookWorkflowId,
} from '../../src/temporal/contracts/webhooks.ts';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { until } from '../until.ts';
import { findDeliveryViolations } from './delivery-oracle.ts';
import { answers, type DeliveryScene, openDeliveryScene } from './delivery-scene.ts';
import { copyOfEarlierSources, openVersionsOf, type VersionScene, versionsOf } from './earlier-sources.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let versions: VersionScene<DeliveryScene>;
beforeAll(async () => {
  versions = await openVersionsOf(openDeliveryScene);
});
afterAll(async () => {
  await versions.scene.receiver.close();
  await versions.close();
});

const [formerly, nowadays] = ['**Given up**', '**Dead-lettered**'];

/** The earlier code called dead letters otherwise. @returns its entry point */
function earlierEntry(folder: string): string {
  const entry = copyOfEarlierSources(folder);
  const file = join(folder, 'workflows/park-dead-letter.ts');
  const source = readFileSync(file, 'utf8');
  if (!source.includes(nowadays!)) throw new Error('The sources were not changed.');
  writeFileSync(file, source.replaceAll(nowadays!, formerly!));
  return entry;
}

test('dead letters and retries outlive the code they began with', async () => {
  const { scene, temporal, folder, bundles } = versions;
  const { product, receiver } = scene;
  const connection = await Connection.connect({ address: temporal.address });
  const { workflow } = new Client({ connection });
  const detailsOf = (workflowId: string): Promise<string> =>
    workflow.getHandle(workflowId).query('__temporal_workflow_metadata').then(JSON.stringify, String);

  const earlier = await product.start(['api', 'runs', 'webhooks'], {}, earlierEntry(folder));
  const [oldVersion] = bundles();
  const begin = async (...replies: Parameters<typeof answers>) => {
    const fields = { events: ['workflow.run.failed'], maxAttempts: 3 };
    const { id, path } = await scene.subscribe(earlier.api, answers(...replies), fields);
    const delivery = await scene.sendTest(earlier.api, id);
    const clockId = webhookWorkflowId(webhookIds.parse(id)!);
    return { webhook: id, path, delivery, workflowId: deliveryWorkflowId(delivery), clockId };
  };
  const replayed = await begin(500, 500, 500);
  const signalled = await begin(500, 500, 500, 500);
  const waiting = await begin({ status: 503, headers: { 'retry-after': '600' } });
  for (const { workflowId } of [replayed, signalled]) {
    await until('it is parked', async () => (await detailsOf(workflowId)).includes(formerly!));
  }
  await until('one waits', async () => (await detailsOf(waiting.clockId)).includes('1 delivery waits'));
  const ids = [replayed.workflowId, signalled.workflowId, waiting.clockId];
  const versionOf = async () => new Set(Object.values(await versionsOf(temporal.address, ids, (id) => id)));
  expect(await versionOf()).toEqual(new Set([oldVersion]));
  expect(await earlier.stop()).toBe(0);

  versions.takeBuiltBundle();
  const { api, log } = await product.start(['api', 'runs', 'webhooks']);
  const newVersion = bundles().find((version) => version !== oldVersion);
  await workflow.getHandle(waiting.clockId).signal(webhookMessages.retryNow);
  await scene.reaches(waiting.delivery, 'delivered');
  // Asked again: Temporal may still send a query to the worker that has stopped, and it ends without an answer.
  await until('the present code tells of it', async () => (await detailsOf(signalled.workflowId)).includes(nowadays!));
  expect(await scene.replay(api, replayed.webhook, replayed.delivery)).toBeLessThan(300);
  await workflow.getHandle(signalled.workflowId).signal(deliveryMessages.replay);
  await scene.reaches(replayed.delivery, 'delivered');
  await scene.reaches(signalled.delivery, 'delivered');
  expect(await findDeliveryViolations({ ...scene, temporalAddress: temporal.address })).toEqual([]);
  expect([replayed, signalled, waiting].map(({ path }) => receiver.to(path).length)).toEqual([4, 5, 2]);
  expect(await versionOf()).toEqual(new Set([newVersion]));
  // No process keeps the earlier code for their sake.
  await until('the old bundle is removed', async () => bundles().length === 1);
  expect(bundles()).toEqual([newVersion]);
  expect(log.filter(({ msg }) => msg === 'finishing runs of an earlier version')).toEqual([]);
  await connection.close();
});
