import { randomUUID } from 'node:crypto';
import { videoFile } from './media-files.ts';
import { type FakeJob, type FakeMedia, type MediaDialect, readsWithoutFile, startMediaServer } from './media-server.ts';
import { bearer, type Json, unknownFields, type WireAnswer } from './wire-server.ts';

/** An error as Runway words it. */
export const runwayError = (status: number, error: string, headers?: Record<string, string>): WireAnswer => ({
  status,
  ...(headers && { headers }),
  body: { error, docUrl: 'https://docs.dev.runwayml.com/errors/errors/' },
});

const invalid = (field: string, message: string): WireAnswer => ({
  status: 400,
  body: { error: 'Validation of body failed', issues: [{ code: 'custom', message, path: [field] }] },
});

const fields = ['model', 'promptText', 'ratio', 'duration', 'seed'];
const ratios = ['1280:720', '720:1280'];

function refuse(endpoint: string, body: Json | undefined): WireAnswer | undefined {
  const fromImage = endpoint === 'image_to_video';
  const { model, promptText, ratio, duration, seed, promptImage } = body ?? {};
  const [extra] = unknownFields(body, fromImage ? [...fields, 'promptImage'] : fields);
  if (extra) return invalid(extra, 'Unrecognized key');
  if (model !== 'gen4.5') return invalid('model', 'Invalid discriminator value');
  if (typeof promptText !== 'string' || promptText.length < 1 || promptText.length > 1_000) {
    return invalid('promptText', 'Expected 1 to 1000 characters');
  }
  if (!ratios.includes(String(ratio))) return invalid('ratio', 'Invalid enum value');
  if (!Number.isInteger(duration) || Number(duration) < 2 || Number(duration) > 10) {
    return invalid('duration', 'Expected an integer from 2 to 10');
  }
  if (seed !== undefined && !(Number.isInteger(seed) && Number(seed) >= 0 && Number(seed) <= 4_294_967_295)) {
    return invalid('seed', 'Expected an integer');
  }
  if (!fromImage) return undefined;
  const image = String(promptImage);
  if (!/^data:image\/(png|jpeg|webp);base64,/.test(image)) return invalid('promptImage', 'Invalid data URI.');
  return image.length > 5 * 1024 * 1024 ? invalid('promptImage', 'Data URI is too long.') : undefined;
}

function taskOf(job: FakeJob, url: string): Json {
  const { id, begun, state, wish } = job;
  const task = { id, createdAt: new Date(begun).toISOString() };
  const takesMs = wish.takesMs ?? 0;
  if (state === 'working') {
    const estimatedCost = { credits: 25 };
    if (!Number.isFinite(takesMs)) return { ...task, estimatedCost, status: 'PENDING' };
    return { ...task, estimatedCost, status: 'RUNNING', progress: Math.min(1, (Date.now() - begun) / takesMs) };
  }
  if (typeof wish.fail !== 'string') {
    return { ...task, cost: { credits: 25 }, status: 'SUCCEEDED', output: readsWithoutFile(job) ? [] : [url] };
  }
  return { ...task, cost: { credits: 0 }, status: 'FAILED', failure: 'Internal words.', failureCode: wish.fail };
}

const notFound = runwayError(404, 'A task with that ID could not be found.');

const dialect: MediaDialect = {
  keyOf: bearer,
  notFound,
  wrongKey: runwayError(401, 'The API key you provided is invalid.'),
  newId: randomUUID,
  route(method, { pathname }, body) {
    const [, id] = /^\/v1\/tasks\/([\w-]+)$/.exec(pathname) ?? [];
    if (id !== undefined && method === 'GET') return { kind: 'status', id };
    if (id !== undefined && method === 'DELETE') return { kind: 'cancel', id };
    const [, endpoint] = /^\/v1\/(text_to_video|image_to_video)$/.exec(pathname) ?? [];
    if (endpoint === undefined || method !== 'POST') return undefined;
    return { kind: 'submit', endpoint, webhook: null, refused: refuse(endpoint, body as Json | undefined) };
  },
  accepted: ({ id }) => ({ status: 200, body: { id, estimatedCost: { credits: 25 } } }),
  status: (job, url) => (job.state === 'cancelled' ? notFound : { status: 200, body: taskOf(job, url) }),
  cancelled: () => ({ status: 204, body: undefined }),
  makeFile: ({ input }) =>
    videoFile(input.ratio === '1280:720' ? { width: 320, height: 192 } : { width: 192, height: 320 }, input.duration),
};

/** Runway's API. A job's `fail` is a failure code, such as `SAFETY.INPUT.TEXT`. */
export const startFakeRunway = (apiKey = `key_${'0123456789abcdef'.repeat(8)}`): Promise<FakeMedia> =>
  startMediaServer(dialect, apiKey);
