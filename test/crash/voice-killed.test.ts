import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import { voiceContract } from '../../src/temporal/contracts/voice.ts';
import type { RoleName } from '../../workers/roles.ts';
import { apiClient } from '../api-client.ts';
import { type FakeAudio, startFakeAudio } from '../fakes/openai-audio.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { runningServers } from '../servers.ts';
import { creditsOf } from '../studio/files.ts';
import { until } from '../until.ts';
import { formOf, silence, voiceClient } from '../voice/voice.ts';
import { soonNoticed } from './oracle.ts';
import { successorOf } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// Live keys, whose provider charges for each attempt. The process that takes the place of the one before is the next to die.
let product: Product;
let tenant: Tenant;
let process: ProductProcess;
let fake: FakeAudio;
const roles: RoleName[] = ['api', 'runs', 'generation'];
const voice = () => voiceClient(process.api, tenant.liveKey);
const credits = () => creditsOf(apiClient(process.api, tenant.liveKey));
beforeAll(async () => {
  fake = await startFakeAudio();
  const env = { ...secrets, VOICE_API_KEY: fake.apiKey, VOICE_BASE_URL: fake.baseUrl, VOICE_NAMES: '{"nova":"jane"}' };
  product = await openProduct({ entryPoint: soonNoticed, env });
  [process, tenant] = [await product.start(roles), await product.createTenant({ plan: 'enterprise' })];
});
afterAll(async () => {
  await product.close();
  await fake.close();
});

const failed = { success: false, error: 'The voice service failed. Nothing was charged.' };

test('a provider that fails is asked again only where it did no work, and is paid for what it made', async () => {
  const limited = { fail: { status: 429, headers: { 'retry-after': '1' }, body: { error: { message: 'Slow down' } } } };
  const broken = { fail: { status: 500, body: { error: { message: 'Oops' } } } };
  for (const [behaviour, status, times] of [
    [limited, 200, 2],
    ['wav', 200, 1],
    [broken, 500, 1],
    ['lose the answer', 500, 1],
    ['cut the answer', 500, 1],
    ['garbage', 500, 1],
  ] as const) {
    const [before, asked] = [await credits(), fake.journal.length];
    fake.next(behaviour);
    const response = await voice().speak({ text: 'Hello.', voice: 'nova' });
    expect([behaviour, response.status, fake.journal.length - asked]).toEqual([behaviour, status, times]);
    if (status === 500) expect(await response.json()).toEqual(failed);
    else expect(response.headers.get('content-type')).toBe('audio/mpeg');
    expect(await credits()).toEqual({ balance: before.balance - (status === 200 ? 1 : 0), reserved: 0 });
  }
  expect(fake.journal.at(-1)!.body).toMatchObject({ voice: 'jane', input: 'Hello.', response_format: 'mp3' });
});

test('killed when a recording is stored: the request begins anew, and is paid once', async () => {
  const before = await credits();
  const transcribe = () => voice().transcribe(formOf(silence(2)), { 'idempotency-key': 'recording' });
  await process.arm('voice.stored');
  await expect(transcribe()).rejects.toThrow();
  process = await successorOf(process, product, roles);
  const answer = await transcribe();
  expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([200, null]);
  expect(((await answer.json()) as { data: object }).data).toMatchObject({ duration: 2, text: '16044 bytes' });
  expect(await credits()).toEqual({ balance: before.balance - 2, reserved: 0 });
});

describe('an operator of Temporal who ends a voice call', () => {
  test.each([
    ['cancels', 'cancelled', (handle: WorkflowHandle) => handle.cancel()],
    ['terminates', 'failed', (handle: WorkflowHandle) => handle.terminate()],
  ])(
    '%s it: nothing is charged, its provider is not asked again, and its recording is removed',
    async (_, status, end) => {
      const [before, asked] = [await credits(), fake.journal.length];
      fake.next('silence');
      const waiting = voice().transcribe(formOf(silence(2)));
      await until('the provider is asked', async () => fake.journal.length > asked);
      const { pool } = product.database;
      const { rows } = await pool.query(`select id, file from voice_call where status = 'processing'`);
      const connection = await Connection.connect({ address: runningServers().temporalAddress });
      await end(new Client({ connection }).workflow.getHandle(jobWorkflowId(voiceContract, rows[0].id)));
      await connection.close();
      const answer = await waiting;
      expect([rows.length, answer.status]).toEqual([1, 500]);
      const { rows: ended } = await pool.query('select status from voice_call where id = $1', [rows[0].id]);
      expect(ended).toEqual([{ status }]);
      expect([await credits(), fake.journal.length]).toEqual([before, asked + 1]);
      const { rows: kept } = await pool.query(
        'select 1 from file where name = $1 and (remove_at is null or remove_at > clock_timestamp())',
        [rows[0].file],
      );
      expect(kept).toEqual([]);
    },
  );
});
