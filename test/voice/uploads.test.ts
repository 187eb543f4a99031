import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { formOf, silence, type VoiceClient, voiceClient } from './voice.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let voice: VoiceClient;
beforeAll(async () => {
  product = await sharedProduct();
  voice = voiceClient(product.process.api, product.tenant.testKey);
});
afterAll(() => product.close());

test.each([
  [
    'in the middle of the file',
    `--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n${'x'.repeat(200_000)}`,
  ],
  ['in the head of a part', '--b\r\nContent-Disposition: form-'],
  ['before the form begins', ''],
])('a recording whose sender hangs up %s leaves nothing', async (_, sent) => {
  const { hostname, port } = new URL(product.process.api);
  const folder = join(runningServers().folder, 'files', 'incoming');
  const received = async () => (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.bin')).length;
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const head = ['POST /api/voice/stt HTTP/1.1', 'Host: localhost', `X-API-Key: ${product.tenant.testKey}`];
  const form = ['Content-Type: multipart/form-data; boundary=b', 'Content-Length: 1000000', '', sent];
  socket.write([...head, ...form].join('\r\n'));
  if (sent.length > 1_000) await until('it arrives', async () => (await received()) > 0);
  socket.destroy();
  await until('nothing is left', async () => (await received()) === 0);
  expect((await voice.transcribe(formOf(silence(1)))).status).toBe(200);
});
