import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  deliveryMessages,
  webhookMessages,
  webhookWorkflowId,
  webhookWorkflows,
} from '../../src/temporal/contracts/webhooks.ts';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { type DeadLetter, deadLetter } from '../webhooks/dead-letter.ts';
import { openWebhookScene, type WebhookScene } from '../webhooks/scene.ts';
import { openTemporalUi, type TemporalUi } from './temporal-ui.ts';
import { startTemporalWithUi, type TemporalWithUi } from './temporal-with-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(120_000);

let temporal: TemporalWithUi;
let scene: WebhookScene;
let ui: TemporalUi;
beforeAll(async () => {
  temporal = await startTemporalWithUi();
  scene = await openWebhookScene({ TEMPORAL_ADDRESS: temporal.address });
  ui = await openTemporalUi(temporal.uiUrl);
});
afterAll(async () => {
  await ui?.close();
  await scene?.close();
  await temporal?.close();
});

/** Opens the page of its workflow. */
const open = ({ workflowId }: DeadLetter) => ui.openWorkflow(workflowId);
const statusOf = async ({ id }: DeadLetter) => (await scene.deliveries(id))[0].status;

/** Finds it in the list, opens it, and opens the dialog. @returns what the dialog offers */
async function openMessages(letter: DeadLetter, kind: 'Signal' | 'Update') {
  await ui.openList('DeliveryStatus="dead_lettered"', letter.workflowId);
  await open(letter);
  return (await ui.openMessages(kind)).innerText();
}

describe('a dead letter on its page in the web UI', () => {
  test('says why it is one', async () => {
    const letter = await deadLetter(scene);
    await ui.detailsSay(letter.workflowId, /HTTP 500 after 1 attempt\b.*replay/s);
  });

  test('is delivered by its signal replay', async () => {
    const letter = await deadLetter(scene);
    letter.mend();
    expect(await openMessages(letter, 'Signal')).toMatch(/replay\s+Replay this.*discard\s+Give this/s);
    await ui.choose(deliveryMessages.replay);
    await ui.confirm('Submit');
    await scene.reaches(letter.id, 'delivered');
    expect(scene.receiver.to(letter.path)).toHaveLength(2);
  });

  test('is delivered by its update replayNow, which says so', async () => {
    const letter = await deadLetter(scene);
    letter.mend();
    expect(await openMessages(letter, 'Update')).toMatch(/replayNow\s+Replay this/);
    await ui.choose(deliveryMessages.replayNow);
    await ui.confirm('Submit');
    await scene.reaches(letter.id, 'delivered');
    await open(letter);
    expect(await (await ui.openUpdateOutcome()).innerText()).toMatch(/Delivered/);
  });

  test('is given up for ever by its signal discard', async () => {
    const letter = await deadLetter(scene);
    await openMessages(letter, 'Signal');
    await ui.choose(deliveryMessages.discard);
    await ui.confirm('Submit');
    expect(await scene.reaches(letter.id, 'failed')).toMatchObject({ errorClass: 'discarded' });
  });
});

describe('a webhook that fails, on the page of its workflow', () => {
  test('says what waits, is paused and resumed by signals, and ends when everything has arrived', async () => {
    let status = 503;
    const { id } = await scene.subscribe({ events: ['workflow.run.failed'] }, () => ({ status }));
    await scene.api.post(`/v1/webhooks/${id}/test`);
    await scene.reaches(id, 'retrying');
    const workflowId = webhookWorkflowId(webhookIds.parse(id)!);
    const signal = async (name: string) => {
      await ui.openWorkflow(workflowId);
      const offered = await (await ui.openMessages('Signal')).innerText();
      expect(offered).toMatch(/retryNow\s+Make every retry.*pause\s+Send nothing.*resume\s+Send to/s);
      await ui.choose(name);
      await ui.confirm('Submit');
    };
    await ui.detailsSay(workflowId, /1 delivery waits.*last answer 503/s);
    await signal(webhookMessages.pause);
    await ui.detailsSay(workflowId, /Paused since .*resume/s);
    status = 200;
    await signal(webhookMessages.resume);
    await scene.reaches(id, 'delivered');
  });
});

describe('all of them', () => {
  test('of one webhook are replayed by a workflow that is started with a form', async () => {
    const [letter, other] = [await deadLetter(scene), await deadLetter(scene)];
    for (const { mend } of [letter, other]) mend();
    await ui.openStart({
      workflowId: 'redrive-of-one',
      taskQueue: `${scene.product.taskQueuePrefix}webhooks`,
      workflowType: webhookWorkflows.redriveDeadLetters,
      input: JSON.stringify({ webhookId: letter.id }),
    });
    await ui.start();
    await scene.reaches(letter.id, 'delivered');
    expect(await statusOf(other)).toBe('dead_lettered');
  });

  test('are replayed by the trigger of the Schedule', async () => {
    const letters = [await deadLetter(scene), await deadLetter(scene)];
    for (const { mend } of letters) mend();
    await ui.openSchedule(`${scene.product.taskQueuePrefix}${webhookWorkflows.redriveDeadLetters}`);
    await ui.openScheduleMenu();
    await ui.openTrigger();
    await ui.confirm('Trigger');
    for (const { id } of letters) await scene.reaches(id, 'delivered');
  });
});
