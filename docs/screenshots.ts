/**
 * `node docs/screenshots.ts [console]`: takes the pictures of docs/dead-letters.md and docs/console.md anew, or those of the
 * console alone, of a stack that it starts for them. Needs
 * Chromium (the Debian package `chromium`).
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../local/ports.ts';
import { product } from '../local/product.ts';
import { type Stack, startStack } from '../local/stack.ts';
import { readLocalSettings } from '../src/platform/env.ts';
import { deliveryWorkflowId, webhookWorkflowId } from '../src/temporal/contracts/webhooks.ts';
import { deliveryIds, webhookIds } from '../src/webhooks/core/ids.ts';
import { apiClient } from '../test/api-client.ts';
import { openTemporalUi, type TemporalUi } from '../test/machine/temporal-ui.ts';
import { until } from '../test/until.ts';
import { openReceiver } from '../test/webhooks/receiver.ts';
import { takeConsolePictures } from './console-pictures.ts';

const images = fileURLToPath(new URL('images/', import.meta.url));
const letters = 3;

const port = async () => String(await findFreePort());

async function startLocalStack(folder: string): Promise<Stack> {
  const settings = readLocalSettings({
    ...readLocalSettings().parentEnvironment,
    ATELIER_DATA: folder,
    DATABASE_URL: undefined,
    TEMPORAL_ADDRESS: undefined,
    PORT: await port(),
    TEMPORAL_PORT: await port(),
    TEMPORAL_UI_PORT: await port(),
    POSTGRES_PORT: await port(),
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
  });
  return startStack({ settings, product, log: console.log, signal: new AbortController().signal });
}

/** Creates a webhook whose receiver fails, and sends a test event to it. @returns ids of the dead letter */
async function makeDeadLetter(
  { api, testKey }: Stack,
  url: string,
): Promise<{ webhookId: string; workflowId: string }> {
  const client = apiClient(api, testKey);
  const webhook = { name: 'Orders', url, events: ['workflow.run.completed'], maxAttempts: 3 };
  const { id: webhookId } = (await client.post('/v1/webhooks', webhook)).body.data;
  await client.post(`/v1/webhooks/${webhookId}/test`);
  const { id } = await until('the delivery is dead-lettered', async () => {
    const { deliveries } = (await client.get(`/v1/webhooks/${webhookId}/deliveries?status=dead_lettered`)).body.data;
    return deliveries[0] as { id: string } | undefined;
  });
  return { webhookId, workflowId: deliveryWorkflowId(deliveryIds.parse(id)!) };
}

/** Creates a webhook whose receiver fails, until its breaker is open and deliveries wait. @returns the id of its workflow */
async function makeFailingWebhook({ api, testKey }: Stack, url: string): Promise<string> {
  const client = apiClient(api, testKey);
  const { id } = (await client.post('/v1/webhooks', { name: 'Shop', url, events: ['workflow.run.completed'] })).body
    .data;
  for (let nth = 0; nth < 12; nth++) await client.post(`/v1/webhooks/${id}/test`);
  await until('its breaker is open', async () => {
    return (await client.get(`/v1/webhooks/${id}`)).body.data.health.state === 'open';
  });
  return webhookWorkflowId(webhookIds.parse(id)!);
}

async function takePictures(stack: Stack, ui: TemporalUi): Promise<void> {
  let status = 503;
  const receiver = await openReceiver();
  const made = await Promise.all(
    Array.from({ length: letters }, (_, nth) => {
      receiver.script(`/${nth}`, () => ({ status }));
      return makeDeadLetter(stack, receiver.url(`/${nth}`));
    }),
  );
  receiver.script('/failing', () => ({ status: 503 }));
  const failing = await makeFailingWebhook(stack, receiver.url('/failing'));
  const [first, second] = made as [(typeof made)[number], (typeof made)[number]];
  const picture = async (name: string) => {
    // Animations have ended, and the pointer hovers over nothing.
    await ui.page.mouse.move(600, 5);
    await ui.page.waitForTimeout(500);
    await ui.page.screenshot({ path: join(images, `${name}.png`), animations: 'disabled' });
    console.log(`docs/images/${name}.png`);
  };

  await until('the workflow says that the breaker probes', async () => {
    await ui.openWorkflow(failing);
    return /the breaker probes/.test(await (await ui.openDetails()).innerText());
  });
  await picture('failing-webhook');
  await ui.openMessages('Signal');
  await picture('signal-webhook');

  await ui.openList('DeliveryStatus="dead_lettered"', first.workflowId);
  await picture('dead-letters');
  await ui.openWorkflow(first.workflowId);
  await ui.openDetails();
  await picture('dead-letter');
  status = 200;

  await ui.openMessages('Signal');
  await picture('signal-replay');
  await ui.choose('replay');
  await ui.confirm('Submit');

  await ui.openWorkflow(second.workflowId);
  await ui.openMessages('Update');
  await ui.choose('replayNow');
  await picture('update-replay-now');
  await ui.confirm('Submit');
  await ui.openUpdateOutcome();
  await picture('update-outcome');

  await ui.openStart({
    workflowId: 'redrive-orders',
    taskQueue: 'webhooks',
    workflowType: 'redriveDeadLetters',
    input: JSON.stringify({
      subscriptionId: first.webhookId,
      since: new Date().toISOString().slice(0, 10),
      perSecond: 5,
    }),
  });
  await picture('start-redrive');

  await ui.openSchedule('redriveDeadLetters');
  await ui.openScheduleMenu();
  await picture('schedule-trigger');
  await receiver.close();
}

const folder = mkdtempSync(join(tmpdir(), 'atelier-pictures-'));
const stack = await startLocalStack(folder);
try {
  await takeConsolePictures(stack, images);
  if (process.argv[2] !== 'console') {
    const ui = await openTemporalUi(stack.temporalUi!);
    await takePictures(stack, ui).finally(() => ui.close());
  }
} finally {
  await stack.stop();
  rmSync(folder, { recursive: true });
}
process.exit();
