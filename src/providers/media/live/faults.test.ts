import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { falError, falOwnError, startFakeFal } from '../../../../test/fakes/fal.ts';
import type { FakeMedia, JobWish, Trouble } from '../../../../test/fakes/media-server.ts';
import { runwayError, startFakeRunway } from '../../../../test/fakes/runway.ts';
import type { WireAnswer } from '../../../../test/fakes/wire-server.ts';
import { tenantKeyOf } from '../../../../test/platform/tenant-key.ts';
import { until } from '../../../../test/until.ts';
import { BoundedWork } from '../../../platform/bounded-work/bounded-work.ts';
import { Egress } from '../../../platform/egress/egress.ts';
import { egressRules } from '../../../platform/egress/egress-destination.ts';
import { openLog } from '../../../platform/observability/log.ts';
import { mediaModels } from '../../core/media/models.ts';
import type { ImageRequest, VideoRequest } from '../../core/media/requests.ts';
import type { MediaJob, MediaModel } from '../media-ports.ts';
import { falHost } from './fal.ts';
import { finishOutput } from './finishing.ts';
import { liveMediaModel } from './media-model.ts';
import { runwayHost } from './runway.ts';

/** Faults of a provider, and their messages. Each call is made once, whatever the answer is. */

let work: BoundedWork;
let egress: Egress;
let fal: FakeMedia;
let runway: FakeMedia;
const models = new Map<string, MediaModel>();
const fakeOf = (name: string) => (name === 'fal' ? fal : runway);

/** Far more than an answer takes on a busy machine; and for providers that say nothing. */
const timeoutMs = { patient: 30_000, impatient: 300 };
const fromEgress = (...allowed: string[]) =>
  new Egress(egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: allowed } as never));
const open = (baseUrl: string, apiKey = fal.apiKey, from = egress, ms = timeoutMs.patient) =>
  liveMediaModel(
    falHost({ apiKey, baseUrl, timeoutMs: ms, webhookUrl: (id) => `https://us.example/hooks/fal/${id}` }),
    {
      models: mediaModels,
      egress: from,
      work,
    },
  );

beforeAll(async () => {
  work = new BoundedWork({ log: openLog('error', 'test'), tasks: [finishOutput] });
  egress = fromEgress('127.0.0.0/8');
  [fal, runway] = await Promise.all([startFakeFal(), startFakeRunway()]);
  const { apiKey, origin: baseUrl } = runway;
  for (const [patience, ms] of Object.entries(timeoutMs)) {
    models.set(`fal, ${patience}`, open(fal.origin, fal.apiKey, egress, ms));
    const host = runwayHost({ apiKey, baseUrl, timeoutMs: ms });
    models.set(`runway, ${patience}`, liveMediaModel(host, { models: mediaModels, egress, work }));
  }
});
beforeEach(() => {
  fal.reset();
  runway.reset();
});
afterAll(async () => {
  work.close();
  await Promise.all([egress.close(), fal.close(), runway.close()]);
});

const image: ImageRequest = {
  kind: 'image',
  prompt: 'a boat',
  negativePrompt: null,
  model: 'flux-pro-1.1',
  aspectRatio: '1:1',
  quality: 'standard',
  seed: null,
};
const video: VideoRequest = { kind: 'video', prompt: 'waves', model: 'runway-gen3', duration: 5, aspectRatio: '16:9' };
const id = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
const jobOf = (name: string): MediaJob => ({
  id,
  request: name === 'fal' ? image : video,
  image: null,
  seed: 7,
  ageMs: 0,
});
const call = (attempt = 1) => ({ tenantKey: tenantKeyOf('one'), attempt, signal: new AbortController().signal });

const modelOf = (name: string, trouble?: Trouble) =>
  models.get(`${name}, ${trouble === 'silence' ? 'impatient' : 'patient'}`)!;
const submit = (name: string, trouble?: Trouble) => modelOf(name, trouble).submit(jobOf(name), call());
const failureOf = (work: Promise<unknown>) => work.then(() => undefined).catch((error) => error);
/** How many requests came. The time of one that waits for silence may be over on a busy machine before it is sent. */
const arrived = (name: string) => fakeOf(name).journal.length;
const providers = ['fal', 'runway'];
const each = <Case>(cases: Case[]) => providers.flatMap((name) => cases.map((one): [string, Case] => [name, one]));

describe('a submit that leaves open whether the job was taken', () => {
  test.each(
    each<Trouble>([
      'lose the answer',
      'page',
      'silence',
      { fail: { status: 500, body: { detail: 'Internal Server Error', error: 'Internal Server Error' } } },
      { fail: { status: 502, body: undefined } },
      { fail: { status: 503, headers: { 'retry-after': '1' }, body: {} } },
      { fail: { status: 504, body: undefined } },
    ]),
  )('%s: %j', async (name, trouble) => {
    const failure = await until('the request arrives', async () => {
      fakeOf(name).reset();
      fakeOf(name).next({ submit: trouble });
      const found = await failureOf(submit(name, trouble));
      return arrived(name) > 0 && found;
    });
    expect(failure).toMatchObject({ name: 'SubmissionLost' });
    // The SDK of fal would have sent it four times.
    expect(fakeOf(name).journal).toHaveLength(1);
    expect(fakeOf(name).jobs.length).toBeLessThanOrEqual(1);
  });
});

describe('a submit that was certainly not taken', () => {
  const busy = { status: 429, headers: { 'retry-after': '7' }, body: { detail: 'Busy', error: 'Busy' } };
  const cases: [string, Trouble, object][] = [
    ['fal', { fail: busy }, { kind: 'rate_limited', retryable: true, retryAfterMs: 7_000 }],
    ['runway', { fail: busy }, { kind: 'rate_limited', retryable: true, retryAfterMs: 7_000 }],
    ['fal', { fail: falOwnError(503, 'runner_scheduling_failure') }, { kind: 'overloaded', retryable: true }],
    ['fal', { fail: falOwnError(504, 'startup_timeout') }, { kind: 'timeout', retryable: true }],
    [
      ...(['fal', { fail: falError(422, 'content_policy_violation', 'No.', ['body', 'prompt']) }] as const),
      { kind: 'content_refused', retryable: false },
    ],
    [
      ...(['fal', { fail: falError(422, 'string_too_long', 'Too long', ['body', 'prompt']) }] as const),
      { kind: 'invalid_request', retryable: false, message: expect.stringContaining('prompt: Too long') },
    ],
    [
      ...(['fal', { fail: { status: 403, body: { detail: 'User is locked. Reason: Exhausted balance.' } } }] as const),
      { kind: 'quota', retryable: false },
    ],
    ['fal', { fail: { status: 401, body: { detail: 'No' } } }, { kind: 'auth', retryable: false }],
    [
      ...(['fal', { fail: { status: 404, body: { detail: "Application 'x' not found" } } }] as const),
      { kind: 'retired_model', retryable: false, message: expect.stringContaining('map the name to another model') },
    ],
    ['runway', { fail: runwayError(401, 'No') }, { kind: 'auth', retryable: false }],
    [
      ...(['runway', { fail: runwayError(400, 'Validation of body failed') }] as const),
      { kind: 'invalid_request', message: expect.stringContaining('Validation of body failed') },
    ],
  ];
  test.each(cases)('%s: %j is %j', async (name, trouble, failure) => {
    fakeOf(name).next({ submit: trouble });
    expect(await failureOf(submit(name))).toMatchObject({ name: 'ProviderFailure', ...failure });
    expect([fakeOf(name).journal.length, fakeOf(name).jobs.length]).toEqual([1, 0]);
  });

  test('a refused connection, and a wrong key that is never shown', async () => {
    const gone = await startFakeFal();
    await gone.close();
    const refused = await failureOf(open(gone.origin).submit(jobOf('fal'), call()));
    expect(refused).toMatchObject({ name: 'ProviderFailure', kind: 'connection', retryable: true });
    const key = 'key-that-is-wrong-0123456789';
    const denied = await failureOf(open(fal.origin, key).submit(jobOf('fal'), call()));
    expect(denied).toMatchObject({ kind: 'auth' });
    expect(fal.journal[0]).toMatchObject({ key });
    expect(JSON.stringify([refused.message, denied.message])).not.toMatch(/key-that|127\.0\.0\.1/);
  });

  test('one that is not sent in time', async () => {
    const late = { ...call(), signal: AbortSignal.abort() };
    const failure = await failureOf(modelOf('fal').submit(jobOf('fal'), late));
    expect(failure).toMatchObject({ name: 'ProviderFailure', kind: 'unavailable', retryable: true });
    expect(fal.journal).toEqual([]);
  });
});

test('a job of fal carries our id in the address of its report, and everything goes to the queue that is configured', async () => {
  const upstreamId = await submit('fal');
  const [job] = fal.jobs;
  expect(job).toMatchObject({ id: upstreamId, webhook: `https://us.example/hooks/fal/${id}` });
  expect(job!.input).toMatchObject({ prompt: 'a boat', image_size: { width: 1_024, height: 1_024 }, seed: 7 });
  const model = modelOf('fal');
  await model.poll(jobOf('fal'), upstreamId, call());
  await (await model.fetchFile(jobOf('fal'), upstreamId, call())).discard();
  await model.cancel(jobOf('fal'), upstreamId, call());
  // The answers named another host.
  const of = `/fal-ai/flux-pro/requests/${upstreamId}`;
  expect(fal.journal.map(({ method, path }) => `${method} ${path.split('?')[0]}`)).toEqual([
    'POST /fal-ai/flux-pro/v1.1',
    `GET ${of}/status`,
    `GET ${of}`,
    `GET /output/${upstreamId}`,
    `PUT ${of}/cancel`,
  ]);
  expect(fal.journal.filter(({ path }) => !path.startsWith('/output')).every(({ key }) => key === fal.apiKey)).toBe(
    true,
  );
  // The server of the file does not get the key.
  expect(fal.journal.find(({ path }) => path.startsWith('/output'))!.headers.authorization).toBeUndefined();
});

test('progress is reported as far as the provider reports it', async () => {
  for (const name of providers) {
    fakeOf(name).next({ takesMs: Number.POSITIVE_INFINITY }, { takesMs: 60_000 });
    const [model, job] = [modelOf(name), jobOf(name)];
    const waiting = await model.poll(job, await submit(name), call());
    const running = await model.poll(job, await submit(name), call());
    expect([waiting, running].map(({ kind }) => kind)).toEqual(['working', 'working']);
    if (name === 'runway')
      expect([waiting, running]).toEqual([
        { kind: 'working', fraction: 0 },
        { kind: 'working', fraction: expect.any(Number) },
      ]);
  }
});

describe('a question that gets no good answer', () => {
  test.each(
    each<Trouble>([
      'lose the answer',
      'page',
      'silence',
      { fail: { status: 429, headers: { 'retry-after': '2' }, body: {} } },
      { fail: { status: 500, body: {} } },
      { fail: { status: 503, body: {} } },
    ]),
  )('is asked again by the workflow: %s: %j', async (name, trouble) => {
    const [model, job] = [modelOf(name, trouble), jobOf(name)];
    const upstreamId = await submit(name);
    for (const ask of [() => model.poll(job, upstreamId, call()), () => model.fetchFile(job, upstreamId, call())]) {
      fakeOf(name).nextCalls(trouble);
      const before = arrived(name);
      const failure = await until('the request arrives', async () => {
        const found = await failureOf(ask());
        return arrived(name) > before && found;
      });
      expect(failure).toMatchObject({ name: 'ProviderFailure', retryable: true });
      expect(arrived(name)).toBe(before + 1);
    }
    expect(await modelOf(name).poll(job, upstreamId, call())).toEqual({ kind: 'ready' });
  });

  test.each(providers)('is asked some times more, and then is final, when %s does not know the job', async (name) => {
    const [model, job] = [modelOf(name), jobOf(name)];
    for (const attempt of [1, 3, 4]) {
      for (const ask of [model.poll(job, 'unknown', call(attempt)), model.fetchFile(job, 'unknown', call(attempt))]) {
        const failure = { name: 'ProviderFailure', kind: 'unavailable', status: 404, retryable: attempt < 4 };
        expect(await failureOf(ask)).toMatchObject(failure);
      }
    }
    await model.cancel(job, 'unknown', call());
  });
});

describe('a job that failed', () => {
  const cases: [string, WireAnswer | string, object][] = [
    ['fal', 'content_policy_violation', { kind: 'content_refused' }],
    ['fal', falError(422, 'image_too_small', 'Too small', ['body', 'image_url']), { kind: 'invalid_request' }],
    ['fal', falError(500, 'internal_server_error', 'Sorry'), { kind: 'unavailable' }],
    ['fal', falError(504, 'generation_timeout', 'Sorry'), { kind: 'timeout' }],
    ['fal', falOwnError(503, 'runner_disconnected'), { kind: 'overloaded' }],
    ['fal', { status: 200, body: { images: [{ url: 'x' }], has_nsfw_concepts: [true] } }, { kind: 'content_refused' }],
    ['runway', 'SAFETY.INPUT.TEXT', { kind: 'content_refused' }],
    ['runway', 'INPUT_PREPROCESSING.SAFETY.TEXT', { kind: 'content_refused' }],
    ['runway', 'SAFETY.OUTPUT.VIDEO', { kind: 'content_refused' }],
    ['runway', 'ASSET.INVALID', { kind: 'invalid_request' }],
    [
      'runway',
      'INTERNAL.BAD_OUTPUT.CODE01',
      { kind: 'unavailable', message: expect.not.stringContaining('Internal words') },
    ],
  ];
  test.each(cases)('%s: %j is %j, for good', async (name, fail, failure) => {
    const [model, job] = [modelOf(name), jobOf(name)];
    fakeOf(name).next({ fail });
    const upstreamId = await submit(name);
    // fal says COMPLETED of it, and only the result has the error.
    const status = await failureOf(model.poll(job, upstreamId, call()));
    const found = status ?? (await failureOf(model.fetchFile(job, upstreamId, call())));
    expect(found).toMatchObject({ name: 'ProviderFailure', retryable: false, ...failure });
  });
});

describe('the file of a finished job', () => {
  const fetchWith = async (output: JobWish['output'], attempt = 1, from = egress) => {
    fal.next({ output: output! });
    const model = open(fal.origin, fal.apiKey, from);
    const upstreamId = await model.submit(jobOf('fal'), call());
    return failureOf(model.fetchFile(jobOf('fal'), upstreamId, call(attempt)));
  };

  test.each(['another type', 'page', 'broken', 'cut', 'empty'] as const)('is refused when it is %s', async (output) => {
    const failure = await fetchWith(output);
    expect(failure).toMatchObject({ name: 'ProviderFailure', kind: 'malformed_answer', retryable: false });
  });

  test('that is not there is no usable one', async () => {
    expect(await fetchWith('missing')).toMatchObject({ kind: 'malformed_answer', status: 404, retryable: false });
  });

  test('is not fetched from a forbidden destination', async () => {
    const strict = fromEgress();
    for (const url of ['http://127.0.0.1:1/', 'http://169.254.169.254/latest', 'file:///etc/passwd', 'data:,x', 'x']) {
      const failure = await fetchWith({ url }, 1, strict);
      expect(failure).toMatchObject({ kind: 'connection', retryable: false });
    }
    await strict.close();
  });
});
