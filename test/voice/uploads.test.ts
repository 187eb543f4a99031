import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { formOf, silence, type VoiceClient, voiceClient } from './voice.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let voice: VoiceClient;
let storage: string;
let incoming: ReturnType<typeof product.start> | undefined;
beforeAll(async () => {
  product = await sharedProduct();
  storage = await mkdtemp(join(tmpdir(), 'atelier-uploads-'));
  voice = voiceClient(product.process.api, product.tenant.testKey);
});
afterAll(async () => {
  await product.close();
  await rm(storage, { recursive: true });
});

test.each([
  [
    'in the middle of the file',
    `--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n${'x'.repeat(200_000)}`,
  ],
  ['in the head of a part', '--b\r\nContent-Disposition: form-'],
  ['before the form begins', ''],
])('a recording whose sender hangs up %s leaves nothing', async (_, sent) => {
  // A folder of its own: processes that others kill leave files behind.
  incoming ??= product.start(['api'], { STORAGE_DIR: storage });
  const { hostname, port } = new URL((await incoming).api);
  const folder = join(storage, 'incoming');
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

test('a recording that drips in is ended when the time for requests is over, and leaves nothing', async () => {
  const { api } = await product.start(['api'], { REQUEST_ARRIVAL_SECONDS: '6', STORAGE_DIR: storage });
  const { hostname, port } = new URL(api);
  const received = async () => await readdir(join(storage, 'incoming')).catch(() => []);
  const drip = async (key: string) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
    });
    socket.on('error', () => {});
    const head = ['POST /api/voice/stt HTTP/1.1', 'Host: localhost', `X-API-Key: ${key}`];
    const form = ['Content-Type: multipart/form-data; boundary=b', 'Content-Length: 20000000', '', ''];
    const part = '--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n';
    socket.write([...head, ...form].join('\r\n') + part);
    const dripping = setInterval(() => socket.write('x'.repeat(100)), 50);
    await once(socket, 'close');
    clearInterval(dripping);
    return answer;
  };
  // On a busy machine some may be over before they are seen: then another tenant sends as many.
  await until('twenty are seen', async () => {
    const { liveKey } = await product.createTenant({ plan: 'enterprise' });
    let isOver = false;
    // Fewer than a minute allows, so that none is refused for another reason.
    const ends = Promise.all(Array.from({ length: 20 }, () => drip(liveKey))).finally(() => {
      isOver = true;
    });
    const arrived = new Set<string>();
    await until('they arrive, or are over', async () => {
      for (const name of await received()) arrived.add(name);
      return arrived.size === 20 || isOver;
    });
    for (const answer of await ends) expect(answer).toMatch(/^(HTTP\/1\.1 408|$)/);
    await until('nothing is left', async () => (await received()).length === 0);
    return arrived.size === 20;
  });
});

test('a form in pieces of one byte is refused before it costs much, and a slow sender is not', async () => {
  const { hostname, port } = new URL(product.process.api);
  const part = '--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n';
  const head = [
    'POST /api/voice/stt HTTP/1.1',
    'Host: localhost',
    `X-API-Key: ${product.tenant.testKey}`,
    'Content-Type: multipart/form-data; boundary=b',
    'Transfer-Encoding: chunked',
    '',
    '',
  ].join('\r\n');
  const send = async (form: Buffer, pieces: number, rest: string) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
      if (answer.includes('"text"')) socket.end();
    });
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const begin = form.subarray(0, -pieces || undefined);
    socket.write(`${head}${begin.length.toString(16)}\r\n`);
    socket.write(begin);
    socket.write('\r\n');
    const ends = [...form.subarray(form.length - pieces)].map((byte) => Buffer.from([0x31, 13, 10, byte, 13, 10]));
    socket.write(Buffer.concat(ends));
    socket.write(rest);
    await closed;
    return answer;
  };
  // As many as the buffers of a connection hold: a client that still sends when it ends may lose the answer.
  const refused = await send(Buffer.from(part + 'x'.repeat(10_000)), 10_000, '');
  expect(refused).toMatch(/^HTTP\/1\.1 400/);
  expect(refused).toMatch(/connection: close/i);
  expect(refused).toContain('Invalid request body');
  const form = Buffer.concat([Buffer.from(part), silence(1), Buffer.from('\r\n--b--\r\n')]);
  expect(await send(form, 1_500, '0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200/);
});
