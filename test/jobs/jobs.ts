import { expect } from '@jest/globals';
import { messageContract } from '../../src/temporal/contracts/conversation.ts';
import { actionContract } from '../../src/temporal/contracts/integrations.ts';
import type { JobContract } from '../../src/temporal/contracts/jobs.ts';
import { generationContract } from '../../src/temporal/contracts/studio.ts';
import { voiceContract } from '../../src/temporal/contracts/voice.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type Answer, apiClient } from '../api-client.ts';
import { formOf, silence, voiceClient } from '../voice/voice.ts';
import type { JobScene } from './job-scene.ts';

/** Where a process is killed, and what follows. */
export interface Kill {
  at: string;
  /** The status of the answer to the request that is repeated with its Idempotency-Key. */
  status: number;
  /** How often the provider is asked in all; absent where nothing outside the process is asked. */
  asked?: number;
}

/** A kind of job, as the tests that hold for every job use it. */
export interface JobUnderTest {
  contract: JobContract;
  table: string;
  /** Credits. */
  price: number;
  /** Whether its credits and requests are those of live keys. */
  isLive: boolean;
  kills: Kill[];
  /** Requests the job. @param what makes requests differ */
  request(scene: JobScene, what: string, headers: Record<string, string>): Promise<Answer>;
  /** What the answer contains: at its success, or otherwise. */
  answers(status: number, what: string): object;
  /** How often the provider was asked so far. */
  asked(scene: JobScene): number;
  /** What its tenant has besides credits, and what one job adds. */
  results?: { count(scene: JobScene): Promise<Record<string, number>>; ofOne: Record<string, number> };
  /** Requests one that takes long. Its answer comes after the end of the test, or never. */
  requestSlow(scene: JobScene): Promise<unknown>;
  /** How often its provider is asked for it, and counted by `asked`. */
  slowAsks: number;
  /** The states in which it ends when an operator cancels or terminates its workflow. */
  stopped: { cancelled: string; terminated: string };
}

const client = ({ process, tenant }: JobScene, isLive = false) =>
  apiClient(process().api, isLive ? tenant.liveKey : tenant.testKey);

/** What was made, and which of its files can be read. */
async function countFiles(scene: JobScene): Promise<Record<string, number>> {
  const { total } = (await client(scene).get('/api/studio/history')).body.data;
  const { rows } = await scene.product.database.pool.query(
    `select count(*)::int as files from file
      where organization_id = $1 and recorded_at is not null and (remove_at is null or remove_at > clock_timestamp())`,
    [organizationIds.parse(scene.tenant.organizationId)],
  );
  return { total, files: rows[0].files };
}

const generation: JobUnderTest = {
  contract: generationContract,
  table: 'generation',
  price: 1,
  isLive: false,
  kills: ['committed', 'started', 'stored', 'recorded'].map((at) => ({ at, status: 200 })),
  request: (scene, what, headers) =>
    client(scene).post('/api/studio/generate', { prompt: `A lighthouse, ${what}` }, headers),
  answers: (_, what) => ({ data: { prompt: `A lighthouse, ${what}`, creditsUsed: 1 } }),
  asked: () => 0,
  results: { count: countFiles, ofOne: { total: 1, files: 1 } },
  requestSlow: (scene) => client(scene).post('/api/studio/generate-video', { prompt: 'sandbox:slow=600 Waves' }),
  slowAsks: 0,
  stopped: { cancelled: 'cancelled', terminated: 'failed' },
};

const say = (scene: JobScene, content: string, headers?: Record<string, string>) =>
  client(scene).post('/api/chat', { messages: [{ role: 'user', content }] }, headers);

const message: JobUnderTest = {
  contract: messageContract,
  table: 'conversation_message',
  price: 1,
  isLive: false,
  kills: ['committed', 'started', 'asked', 'recorded'].map((at) => ({ at, status: 200 })),
  request: (scene, what, headers) => say(scene, `Hello, ${what}`, headers),
  answers: (_, what) => ({ data: { content: expect.stringContaining(`Hello, ${what}`) } }),
  asked: () => 0,
  requestSlow: (scene) => say(scene, 'sandbox:slow=600 Hello'),
  slowAsks: 0,
  stopped: { cancelled: 'cancelled', terminated: 'failed' },
};

const voice: JobUnderTest = {
  contract: voiceContract,
  table: 'voice_call',
  price: 1,
  isLive: true,
  // The provider may charge for each attempt: an answer that is lost is a failure.
  kills: [
    { at: 'committed', status: 200, asked: 1 },
    { at: 'started', status: 200, asked: 1 },
    { at: 'submitting', status: 500, asked: 0 },
    { at: 'answered', status: 500, asked: 1 },
    { at: 'speech_stored', status: 500, asked: 1 },
    { at: 'recorded', status: 200, asked: 1 },
  ],
  async request({ process, tenant }, what, headers) {
    const response = await voiceClient(process().api, tenant.liveKey).speak({ text: `Hello, ${what}` }, headers);
    const bytes = Buffer.from(await response.arrayBuffer());
    const body = response.status === 200 ? { isSpeech: bytes.length > 1_000 } : JSON.parse(bytes.toString());
    return { status: response.status, headers: response.headers, body };
  },
  answers: (status) =>
    status === 200 ? { isSpeech: true } : { success: false, error: 'The voice service failed. Nothing was charged.' },
  asked: ({ audio }) => audio.journal.length,
  async requestSlow({ process, tenant, audio }) {
    audio.next('silence');
    return voiceClient(process().api, tenant.liveKey).transcribe(formOf(silence(2)));
  },
  slowAsks: 1,
  stopped: { cancelled: 'cancelled', terminated: 'failed' },
};

const action: JobUnderTest = {
  contract: actionContract,
  table: 'integration_action',
  price: 0,
  isLive: true,
  // A request that was not sent is sent; a request that the provider may have received is not repeated.
  kills: [
    { at: 'committed', status: 200, asked: 1 },
    { at: 'submitting', status: 200, asked: 1 },
    { at: 'answered', status: 502, asked: 1 },
    { at: 'recorded', status: 200, asked: 1 },
  ],
  request: (scene, what, headers) =>
    client(scene, true).post(
      '/api/v1/integrations/hubspot/actions/create_contact',
      { properties: { email: `${what}@example.com` } },
      headers,
    ),
  answers: (status) =>
    status === 200
      ? { success: true }
      : {
          error: {
            code: 'action_failed',
            details: { integrationId: 'hubspot', actionId: 'create_contact', outcome: 'unknown' },
          },
        },
  asked: ({ hubspot }) => hubspot.journal.filter(({ endpoint }) => endpoint === 'api').length,
  // An attempt takes seconds at most: one that waits for its time.
  requestSlow: (scene) =>
    client(scene).post('/api/v1/integrations/linkedin/actions/send_connection', {
      accountId: 'me',
      profileUrl: 'https://www.linkedin.com/in/ada-lovelace',
      delay: 3_600,
    }),
  slowAsks: 0,
  stopped: { cancelled: 'cancelled', terminated: 'cancelled' },
};

/** Every kind of job. A new one is one more line here. */
export const jobs = [generation, message, voice, action];
