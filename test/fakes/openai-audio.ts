import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { encodeMp3 } from '../../src/providers/speech/audio/mp3.ts';
import { soundFile } from './media-files.ts';
import { bearer, type Json, type WireAnswer, write } from './wire-server.ts';

/** A request as it came in. */
export interface ReceivedRequest {
  path: string;
  /** JSON, or the fields of a form. */
  body: Json;
  /** The file of a form. */
  file?: { name: string; type: string; bytes: Buffer };
}

export type AudioBehaviour =
  | { fail: WireAnswer }
  /** The answer of a transcription. */
  | { say: Json }
  | 'wav'
  /** Bytes that are no sound. */
  | 'garbage'
  | 'nothing'
  | 'silence'
  /** Does the work and ends the connection. */
  | 'lose the answer'
  /** Half of the answer, then the end of the connection. */
  | 'cut the answer';

export interface FakeAudio {
  baseUrl: string;
  apiKey: string;
  journal: ReceivedRequest[];
  /** What it does with the next requests; afterwards it answers. */
  next(...behaviours: AudioBehaviour[]): void;
  close(): Promise<void>;
}

/** Seconds of what it says. */
export const spokenSeconds = 1.5;

async function read(request: IncomingMessage, path: string): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('application/json')) return { path, body: JSON.parse(bytes.toString()) };
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const received: ReceivedRequest = { path, body: {} };
  for (const [name, value] of form) {
    if (typeof value === 'string') received.body[name] = value;
    else received.file = { name: value.name, type: value.type, bytes: Buffer.from(await value.arrayBuffer()) };
  }
  return received;
}

const mp3 = async () =>
  encodeMp3([new Float32Array(44_100 * spokenSeconds).map((_, n) => Math.sin(n / 20) / 2)], 44_100);

async function speak(response: ServerResponse, behaviour: AudioBehaviour | undefined): Promise<void> {
  const sounds: Partial<Record<string, () => Promise<Buffer>>> = {
    wav: async () => soundFile(spokenSeconds).bytes,
    garbage: async () => Buffer.alloc(5_000, 'x'),
    nothing: async () => Buffer.alloc(0),
  };
  const bytes = await (sounds[String(behaviour)] ?? mp3)();
  response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': bytes.length });
  if (behaviour !== 'cut the answer') return void response.end(bytes);
  response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}

/** OpenAI's API of speech and transcriptions, on a free loopback port. */
export async function startFakeAudio(apiKey = 'sk-voice-fake-0123456789'): Promise<FakeAudio> {
  const journal: ReceivedRequest[] = [];
  const script: AudioBehaviour[] = [];
  const paths = ['/v1/audio/speech', '/v1/audio/transcriptions'];

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const received = await read(request, path);
    journal.push(received);
    if (!paths.includes(path)) return write(response, { status: 404, body: { error: { message: 'Invalid URL' } } });
    if (bearer(request.headers) !== apiKey) {
      return write(response, {
        status: 401,
        body: { error: { message: 'Incorrect API key', code: 'invalid_api_key' } },
      });
    }
    const behaviour = script.shift();
    if (behaviour === 'silence') return;
    if (behaviour === 'lose the answer') return void response.destroy();
    if (typeof behaviour === 'object' && 'fail' in behaviour) return write(response, behaviour.fail);
    if (path.endsWith('speech')) return speak(response, behaviour);
    const said = typeof behaviour === 'object' ? behaviour.say : { text: `${received.file?.bytes.length} bytes` };
    write(response, { status: 200, body: behaviour === 'garbage' ? { text: 7 } : said });
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => write(response, { status: 599, body: { error: String(error) } }));
  });
  server.listen(0, '127.0.0.1');
  server.unref();
  await once(server, 'listening');
  return {
    apiKey,
    journal,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    next: (...behaviours) => script.push(...behaviours),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
