import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { reserveCredits } from '../../src/credits/reservations.ts';
import { Background } from '../../src/platform/concurrency/background.ts';
import { Waiters } from '../../src/platform/concurrency/waiters.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { statement } from '../../src/platform/database/sql.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { ProviderFailure } from '../../src/platform/provider-failure.ts';
import { mediaModels } from '../../src/providers/core/media/models.ts';
import type { VideoRequest } from '../../src/providers/core/media/requests.ts';
import { type MediaModel, type MediaStatus, SubmissionLost } from '../../src/providers/media/media-ports.ts';
import { type AdvanceServices, advanceGeneration } from '../../src/studio/advance-generation.ts';
import { getVideo } from '../../src/studio/generations.ts';
import { generationJob } from '../../src/studio/job.ts';
import { providerReported } from '../../src/studio/provider-report.ts';
import { GenerationWatch } from '../../src/studio/watch-generation.ts';
import { defaultGenerationPolicy } from '../../src/temporal/contracts/studio.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';

/** Called directly: what a workflow does with the outcome is its own matter, and no other process knows of the rows. */
let product: Awaited<ReturnType<typeof sharedProduct>>;
let scope: Scope;
beforeAll(async () => {
  product = await sharedProduct();
  const organizationId = organizationIds.parse(product.tenant.organizationId)!;
  scope = new Scope(product.database, { organizationId, environment: 'live' }, 'submissions-test');
});
afterAll(() => product?.close());

/** A provider that charges for every job, and does what a test has it do. */
class Provider implements MediaModel {
  readonly repeatable = false;
  readonly calls: string[] = [];
  submission: () => Promise<string> = async () => 'upstream-1';
  status: MediaStatus | ProviderFailure = { kind: 'working' };

  expectation = () => ({ ms: 90_000, reportsProgress: true, isInstant: false });
  submit() {
    this.calls.push('submit');
    return this.submission();
  }
  async poll(_: unknown, upstreamId: string): Promise<MediaStatus> {
    this.calls.push(`poll ${upstreamId}`);
    if (this.status instanceof ProviderFailure) throw this.status;
    return this.status;
  }
  fetchFile(): never {
    throw new Error('Nothing is made here.');
  }
  async cancel(_: unknown, upstreamId: string) {
    this.calls.push(`cancel ${upstreamId}`);
  }
}

const request: VideoRequest = {
  kind: 'video',
  prompt: 'Waves',
  model: 'runway-gen3',
  duration: 5,
  aspectRatio: '16:9',
};
const insert = statement({
  name: 'test.insert_generation',
  parameters: { id: 'uuid', request: 'jsonb' },
  text: `insert into generation (id, organization_id, environment, number, kind, status, request, seed, correlation_id,
                           progress, created_at)
   select :id, :organizationId, :environment, coalesce(max(number), 0) + 1, 'video', 'processing', :request, 1, 'test', 0,
          clock_timestamp() from generation where organization_id = :organizationId and environment = :environment`,
});
const age = statement({
  name: 'test.age_generation',
  parameters: { id: 'uuid', seconds: 'float8' },
  row: { id: 'uuid' },
  text: `update generation set created_at = created_at - make_interval(secs => :seconds)
    where organization_id = :organizationId and environment = :environment and id = :id returning id`,
});

const ageQuestion = statement({
  name: 'test.age_question',
  parameters: { id: 'uuid', seconds: 'float8' },
  row: { id: 'uuid' },
  text: `update generation set asked_at = asked_at - make_interval(secs => :seconds)
    where organization_id = :organizationId and environment = :environment and id = :id returning id`,
});
const silentLog = openLog('fatal', 'test');

let provider: Provider;
let id: string;
let services: AdvanceServices;
beforeEach(async () => {
  provider = new Provider();
  id = randomUUID();
  services = {
    generationWaiters: new Waiters('generation'),
    media: { models: mediaModels, mediaModel: () => provider },
    generationPolicy: defaultGenerationPolicy,
  } as unknown as AdvanceServices;
  const rest = { operation: 'video', amount: 25, expiresInMs: 3_600_000 } as const;
  await reserveCredits(scope, { key: generationJob.creditKey(id), ...rest });
  await scope.rows(insert, { id, request: JSON.stringify(request) });
});

const ending = () => ({ id, waiter: null });
const advance = (attempt = 1) =>
  advanceGeneration(services, scope, ending(), {
    attempt,
    maxAttempts: 5,
    withoutFile: 0,
    signal: new AbortController().signal,
  });
const hold = async () => (await scope.rows(held, { key: generationJob.creditKey(id) })).length;
const held = statement({
  name: 'test.hold',
  parameters: { key: 'text' },
  text: 'select from credit_hold where organization_id = :organizationId and environment = :environment and key = :key',
});

test('a job is submitted once, and then asked for, also by another attempt', async () => {
  expect(await advance()).toEqual({ kind: 'wait', ms: 5_000, provider: 'Runway', percent: 0 });
  provider.status = { kind: 'working', fraction: 0.4, askAfterMs: 7_000 };
  expect(await advance()).toMatchObject({ kind: 'wait', ms: 7_000, percent: 40 });
  // Progress never falls.
  provider.status = { kind: 'working', fraction: 0.3 };
  expect(await advance()).toMatchObject({ percent: 40 });
  expect((await getVideo(scope, id)).progress).toBe(40);
  expect(provider.calls).toEqual(['submit', ...Array(2).fill('poll upstream-1')]);
});

test('a job that is watched is asked about at once, and not more often than every five seconds', async () => {
  const signalled: string[] = [];
  const temporal = { signalIfOpen: async (workflowId: string) => void signalled.push(workflowId) };
  const background = new Background(silentLog);
  const watching = () =>
    new GenerationWatch({
      temporal: temporal as never,
      generationPolicy: defaultGenerationPolicy,
      background,
      log: silentLog,
    });
  const see = async (by = watching()) => {
    by.seen(scope, await getVideo(scope, id));
    await background.settled();
    return signalled.length;
  };
  /** What is seen within those seconds: on a busy machine they may have passed, and it is seen again then. */
  const soon = <Seen>(what: string, look: () => Promise<Seen>) =>
    until(what, async () => {
      signalled.length = 0;
      const start = performance.now();
      const seen = await look();
      return performance.now() - start < 4_000 ? { seen } : undefined;
    });
  // No provider has it.
  expect(await see()).toBe(0);
  const afterQuestion = await soon('it is seen right after it was asked about', async () => {
    await advance();
    return see();
  });
  expect(afterQuestion.seen).toBe(0);
  const stale = await soon('it is seen three times within seconds', async () => {
    await scope.rows(ageQuestion, { id, seconds: 6 });
    const video = await getVideo(scope, id);
    const watch = watching();
    const counts = [await see(watch), await see(watch)];
    // Two processes that read it in the same moment ask once.
    watching().seen(scope, video);
    await background.settled();
    return { video, counts, signalled: [...signalled] };
  });
  expect(stale.seen).toMatchObject({ counts: [1, 1], signalled: [`generation-${id}`] });
  const { video } = stale.seen;
  // An organization that watches very many videos has them asked about one after the other.
  await scope.rows(ageQuestion, { id, seconds: 6 });
  const crowd = watching();
  crowd.seen(scope, { ...video, id: randomUUID() });
  crowd.seen(scope, video);
  await background.settled();
  expect(signalled).toHaveLength(1);
  expect(await see()).toBe(2);
  await generationJob.stop(services, scope, ending(), 'cancelled');
  await scope.rows(ageQuestion, { id, seconds: 6 });
  watching().seen(scope, video);
  await background.settled();
  expect(signalled).toHaveLength(2);
});

describe('a job that the provider', () => {
  test('did not take is submitted again', async () => {
    const refusal = new ProviderFailure('rate_limited', 'Runway limited the rate of requests.', {
      retryAfterMs: 3_000,
    });
    provider.submission = () => Promise.reject(refusal);
    await expect(advance()).rejects.toBe(refusal);
    provider.submission = async () => 'upstream-2';
    expect(await advance(2)).toMatchObject({ kind: 'wait' });
    await advance();
    expect(provider.calls).toEqual(['submit', 'submit', 'poll upstream-2']);
  });

  test.each([
    ['may have taken', new SubmissionLost('The connection broke.'), 'lost'],
    ['made the process fail over', new TypeError('Unexpected.'), undefined],
  ])('%s is never submitted again, until its report has its id', async (_, failure, kind) => {
    provider.submission = () => Promise.reject(failure);
    if (kind) expect(await advance()).toMatchObject({ kind });
    else await expect(advance()).rejects.toBe(failure);
    // Until the row is looked at again, which the attempt may write that was taken for dead.
    expect(await advance(2)).toMatchObject({ kind: 'lost', provider: 'Runway', ms: 300_000 });
    expect(provider.calls).toEqual(['submit']);

    const signalled: string[] = [];
    const temporal = { signalIfOpen: async (workflowId: string) => void signalled.push(workflowId) };
    const reporting = { database: product.database, temporal: temporal as never };
    await providerReported(reporting, id, 'upstream-3');
    await providerReported(reporting, randomUUID(), 'upstream-3');
    expect(signalled).toEqual([`generation-${id}`]);
    expect(await advance()).toMatchObject({ kind: 'wait' });
    expect(provider.calls).toEqual(['submit', 'poll upstream-3']);
    // Another id is not believed once one is known.
    await providerReported(reporting, id, 'upstream-4');
    await advance();
    expect(provider.calls.at(-1)).toBe('poll upstream-3');
  });

  test('refuses has failed', async () => {
    provider.submission = () => Promise.reject(new ProviderFailure('content_refused', 'Runway refused the content.'));
    expect(await advance()).toEqual({ kind: 'failed', code: 'content_policy', message: 'Runway refused the content.' });
    expect([await hold(), await advance()]).toEqual([0, { kind: 'ended' }]);
  });

  test('cannot be polled is polled until the deadline, then it has failed and the provider is notified', async () => {
    await advance();
    provider.status = new ProviderFailure('unavailable', 'Runway is unavailable.');
    await expect(advance(50)).rejects.toBe(provider.status);
    await scope.rows(age, { id, seconds: 1_801 });
    expect(await advance()).toMatchObject({ kind: 'failed', code: 'timeout' });
    expect(provider.calls.at(-1)).toBe('cancel upstream-1');
    expect(await hold()).toBe(0);
  });

  test('is about to take is cancelled there, when it was cancelled here meanwhile', async () => {
    provider.submission = async () => {
      await generationJob.stop(services, scope, ending(), 'cancelled');
      return 'upstream-5';
    };
    expect(await advance()).toEqual({ kind: 'ended' });
    expect(provider.calls).toEqual(['submit', 'cancel upstream-5']);
    expect((await getVideo(scope, id)).status).toBe('cancelled');
  });
});
