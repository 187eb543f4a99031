import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../../until.ts';
import { openWebhookScene, type WebhookScene } from '../../webhooks/scene.ts';

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene();
});
afterAll(() => scene.close());

test('a due retry is made beside a long backlog of first attempts', async () => {
  const backlog = 200;
  const busy = { status: 503, headers: { 'retry-after': '2' } };
  const { id, path } = await scene.subscribe({ concurrency: 1 }, (nth) =>
    nth === 1 ? busy : { status: 200, afterMs: 20 },
  );
  const send = () => scene.api.post(`/v1/webhooks/${id}/test`);
  await send();
  const { nextAttemptAt } = await scene.reaches(id, 'retrying');
  await Promise.all(Array.from({ length: backlog }, send));
  const delivered = async () =>
    (await scene.api.get(`/v1/webhooks/${id}/deliveries?limit=1&status=delivered`)).body.data.pagination.total;
  await until('all are delivered', async () => (await delivered()) === backlog + 1);

  const requests = scene.receiver.to(path);
  expect(requests).toHaveLength(backlog + 2);
  expect(scene.receiver.maxConcurrent(path)).toBe(1);
  const eventId = requests[0]!.headers['webhook-id'];
  const retry = requests.findLastIndex(({ headers }) => headers['webhook-id'] === eventId);
  const due = Date.parse(nextAttemptAt);
  expect(requests[retry]!.at).toBeGreaterThanOrEqual(due - 2);
  // Far fewer first attempts were made between its time and the retry than after it.
  const between = requests.slice(0, retry).filter(({ at }) => at > due);
  expect(between.length).toBeLessThan((requests.length - retry) / 2);
});
