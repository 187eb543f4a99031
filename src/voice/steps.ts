// The steps of workflows that speak and transcribe.
import { createHash } from 'node:crypto';
import { fingerprintOf, type IdempotencyClaim } from '../platform/database/idempotency.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { FieldError } from '../platform/errors.ts';
import { invalidPayload, refusalOfStep, slotAfterMs } from '../platform/parts/step-errors.ts';
import type { StepCall, StepFields, StepKind, StepOutcome, StepProgress } from '../platform/parts/step-kind.ts';
import { readSandboxWords } from '../providers/core/sandbox-words.ts';
import type { SpeechRequest, VoiceRegistry } from '../providers/index.ts';
import type { Files, SignedUrls } from '../storage/index.ts';
import type { PlanLimit } from '../tenancy/core/plan-limits.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { findPlan, type RateLimiter, subjectOf } from '../tenancy/index.ts';
import { type Call, findCall } from './calls.ts';
import { voiceLimits } from './core/limits.ts';
import type { VoiceCallError } from './core/status.ts';
import { createCall } from './create-call.ts';
import { type RecordingServices, transcribeFrom } from './fetch-recording.ts';
import { voiceJob } from './job.ts';
import { requireVoice } from './require-voice.ts';
import { transcriptionRecord } from './sealed-call.ts';
import { priceOfSpeech, problemsOfSpeech, readSpeech } from './speech-request.ts';
import { problemsOfTranscription, readTranscription } from './transcription-request.ts';

interface StepServices extends RecordingServices {
  voices: VoiceRegistry;
  limiter: Pick<RateLimiter, 'takeOfOperation'>;
  files: RecordingServices['files'] & Pick<Files, 'find'>;
  signedUrls: RecordingServices['signedUrls'] & Pick<SignedUrls, 'sign'>;
}

const codes: Record<VoiceCallError['code'], string> = {
  provider_error: 'service_unavailable',
  service_unavailable: 'service_unavailable',
  timeout: 'timeout',
};

const gone: StepOutcome = { error: { code: 'service_unavailable', message: 'The voice call ended without a result.' } };

const failureOf = ({ error }: Pick<Call, 'error'>): StepOutcome =>
  error ? { error: { code: codes[error.code], message: error.message } } : gone;

// Until the commit nothing ends the call.
const holdCall = statement({
  name: 'voice.hold',
  parameters: { id: 'uuid' },
  row: { hasEnded: 'boolean' },
  text: `select finished_at is not null as "hasEnded" from voice_call
    where organization_id = :organizationId and environment = :environment and id = :id for share`,
});

/** How long a step waits that finds as many calls under way as its plan includes. */
const fullAfterMs = 2_000;

/** When a call may begin, for a step. It is no request: it counts in the window of its operation alone, and waits for room there. */
async function waitsForMs(
  { limiter }: StepServices,
  scope: Scope,
  operation: PlanLimit,
  plan: PlanName,
): Promise<number | undefined> {
  // Before the window, which counts only admitted calls.
  if (!(await voiceJob.hasRoom(scope, plan))) return fullAfterMs;
  const window = { name: operation.name, perMinute: operation.of(plan) };
  const { allowed, retryAfter } = await limiter.takeOfOperation(subjectOf(scope.tenant), window);
  return allowed ? undefined : retryAfter * 1_000;
}

interface VoiceStep {
  type: string;
  endpoint: 'tts' | 'stt';
  description: string;
  example: Record<string, unknown>;
  problems(payload: Record<string, unknown>): FieldError[];
  /** Creates the call. */
  create(
    services: StepServices,
    scope: Scope,
    payload: Record<string, unknown>,
    call: { plan: PlanName; idempotency: IdempotencyClaim; signal: AbortSignal },
  ): Promise<{ id: string }>;
  output(services: StepServices, call: Call): Promise<unknown>;
  /** The output that the sandbox would give. @param digest of the payload */
  sample(payload: Record<string, unknown>, digest: Buffer): unknown;
}

const atPayload = (problems: readonly FieldError[]) =>
  problems.map(({ path, message }) => ({ path: `payload.${path}`, message }));

/** The failure of a test run for a text that asks the sandbox for one. */
function sampleFailure(payload: Record<string, unknown>): StepOutcome | undefined {
  const { failure } = readSandboxWords(String(payload.text ?? payload.url), 'speech');
  if (!failure) return undefined;
  const code = failure === 'timeout' ? 'timeout' : failure === 'refuse' ? 'content_refused' : 'service_unavailable';
  return { error: { code, message: `The sandbox failed as it was asked to (sandbox:${failure}).` } };
}

function voiceStep(step: VoiceStep): StepKind<StepServices> {
  const { type, endpoint, description, example, problems } = step;
  const operation = voiceLimits[`operationsPerMinute.${endpoint}`];
  return {
    type,
    scope: 'voice',
    description,
    example,
    check: (_, { payload }) => atPayload(problems(payload)),
    async perform(services, scope, { fields: { payload }, key, signal }: StepCall): Promise<StepProgress> {
      const wrong = problems(payload);
      if (wrong.length > 0) return { error: invalidPayload(atPayload(wrong)) };
      const idempotency = { method: 'STEP', path: `/voice/${endpoint}`, key, fingerprint: fingerprintOf(null) };
      const earlier = await voiceJob.findEarlier(scope, idempotency);
      if (earlier) return { job: earlier.id };
      try {
        requireVoice(services, scope);
        const plan = await findPlan(scope);
        const waitMs = await waitsForMs(services, scope, operation, plan);
        if (waitMs !== undefined) return { slotAfterMs: waitMs };
        const { id } = await step.create(services, scope, payload, { plan, idempotency, signal });
        return { job: id };
      } catch (error) {
        const afterMs = slotAfterMs(error);
        return afterMs === undefined ? { error: refusalOfStep(error) } : { slotAfterMs: afterMs };
      }
    },
    async simulate(_, __, { payload }: StepFields) {
      const wrong = problems(payload);
      if (wrong.length > 0) return { error: invalidPayload(atPayload(wrong)) };
      const digest = createHash('sha256').update(JSON.stringify(payload)).digest();
      return sampleFailure(payload) ?? { output: step.sample(payload, digest) };
    },
    job: {
      hold: async (_, tx, id) => (await tx.one(holdCall, { id }))?.hasEnded ?? true,
      async outcome(services, scope, id) {
        const call = await findCall(services.sealer, scope, id);
        if (!call) return gone;
        return call.status === 'completed' ? { output: await step.output(services, call) } : failureOf(call);
      },
    },
  };
}

const speechOf = (payload: Record<string, unknown>): SpeechRequest =>
  readSpeech(payload as unknown as Parameters<typeof readSpeech>[0]);

const sampleSpeech = 'https://samples.example.com/sample.mp3';

export const voiceSteps: readonly StepKind<StepServices>[] = [
  voiceStep({
    type: 'speech',
    endpoint: 'tts',
    description:
      'Speaks a text. The payload is the body of `POST /api/voice/tts`. Its output is `{url, format, bytes, creditsUsed}`. The file is kept for 25 hours.',
    example: { text: 'Hello from Atelier.', voice: 'nova' },
    problems: problemsOfSpeech,
    create(services, scope, payload, call) {
      const request = speechOf(payload);
      const price = priceOfSpeech(request);
      return createCall(services, scope, { kind: 'tts', request, price, waiter: null, ...call });
    },
    async output({ files, signedUrls }, { file, price }) {
      const found = await files.find(file!);
      return { url: signedUrls.sign(file!), format: 'mp3', bytes: found?.bytes ?? null, creditsUsed: price };
    },
    sample: (payload, digest) => ({
      url: sampleSpeech,
      format: 'mp3',
      bytes: 10_000 + digest.readUInt16BE(),
      creditsUsed: priceOfSpeech(speechOf(payload)),
    }),
  }),
  voiceStep({
    type: 'transcription',
    endpoint: 'stt',
    description:
      'Transcribes a recording that is fetched from `url`, at most 25 MB and 30 minutes. `language` and `prompt`, words that help the provider, are optional. Its output is the record of `POST /api/voice/stt`: `{text, duration, language}`.',
    example: { url: 'https://recordings.example.com/call.mp3', language: 'en' },
    problems: problemsOfTranscription,
    create: (services, scope, payload, call) => transcribeFrom(services, scope, readTranscription(payload), call),
    output: async (_, { transcript }) => transcriptionRecord(transcript!),
    sample: (payload, digest) => ({
      text: `Sandbox transcription (sha256 ${digest.toString('hex').slice(0, 8)})`,
      duration: 1,
      language: readTranscription(payload).language ?? 'en',
    }),
  }),
];
