import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runCli } from '../cli/run-cli.ts';
import { openWebhookScene, type WebhookScene, webhookEnv } from './scene.ts';

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene();
});
afterAll(() => scene.close());

const oldKeys = webhookEnv.SEALING_KEYS;
const newKey = `k2:${randomBytes(32).toString('base64')}`;
const both = `${newKey},${oldKeys}`;

const reseal = async (keys: string) => {
  const { exitCode, stdout, stderr } = await runCli(['secrets', 'reseal', '--json'], {
    DATABASE_URL: scene.product.databaseUrl,
    SEALING_KEYS: keys,
  });
  return { exitCode, said: JSON.parse(stdout || stderr) };
};

test('a sealing key is replaced: both, then everything sealed anew, then the new one alone', async () => {
  const { id, path } = await scene.subscribe({ headers: { 'X-Token': 'theirs' } });
  for (let count = 0; count < 2; count++) await scene.api.post(`/v1/webhooks/${id}/rotate-secret`);
  expect(await reseal(newKey)).toMatchObject({
    exitCode: 1,
    said: { error: { message: expect.stringContaining('"k1"') } },
  });
  expect(await reseal('')).toMatchObject({ exitCode: 1, said: { error: { code: 'environment' } } });
  expect(await reseal(both)).toEqual({ exitCode: 0, said: { resealed: 4 } });
  expect(await reseal(both)).toEqual({ exitCode: 0, said: { resealed: 0 } });
  await scene.process.stop();
  const { api } = await scene.product.start(['api', 'runs', 'webhooks'], { SEALING_KEYS: newKey });
  const headers = { authorization: `Bearer ${scene.tenant.testKey}` };
  await fetch(`${api}/v1/webhooks/${id}/test`, { method: 'POST', headers });
  const [request] = await scene.receiver.has(path, 1);
  expect(request!.headers['x-token']).toBe('theirs');
  expect(request!.headers['x-service-signature-previous']).toEqual(expect.any(String));
  expect((request!.headers['webhook-signature'] as string).split(' ')).toHaveLength(3);
});
