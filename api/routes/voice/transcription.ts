import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { CreatedJob } from '../../../src/jobs/index.ts';
import type { Scope } from '../../../src/platform/database/scope.ts';
import type { Services } from '../../../src/services.ts';
import type { Spooled } from '../../../src/storage/index.ts';
import { enforceStorageLimit } from '../../../src/storage/storage-limit.ts';
import type { OpenRequest } from '../../../src/tenancy/open-requests.ts';
import { voiceLimits } from '../../../src/voice/core/limits.ts';
import { transcriptionPrice } from '../../../src/voice/core/prices.ts';
import { createTranscription, examineRecording, languageOf } from '../../../src/voice/create-transcription.ts';
import { voiceJob } from '../../../src/voice/job.ts';
import { requireVoice } from '../../../src/voice/require-voice.ts';
import { transcriptionRecord } from '../../../src/voice/sealed-call.ts';
import { refusalOf } from '../../await-job.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { success } from '../../envelopes.ts';
import { idempotencyHeader, readIdempotency } from '../../idempotency.ts';
import { alsoForTokens, requireKeyFor } from '../../middleware/authenticate.ts';
import { newRoutes } from '../../new-routes.ts';
import { keySecurity, paidAnswer } from '../../schemas/answers.ts';
import { recordingForm, transcriptionExamples, transcriptionSchema } from '../../schemas/voice/transcription.ts';
import { awaitCall, describeCall } from './await-call.ts';
import { voiceFailures, voiceRefusals } from './failures.ts';
import { type FormFields, receiveRecording } from './receive-recording.ts';

const description = [
  'Accepts MP3, MP4, M4A, WAV, WebM and MPEG audio, whatever the name of the file: at most 25 MB and 30 minutes.',
  'Costs 2 credits for each started minute of the measured length. A failure costs nothing.',
  'Messages of 400, in the order of the checks: `Audio file is required`, `File too large`, `Unsupported format`,',
  '`Audio too long`, `Invalid language`. A form that cannot be read is `Invalid request body`.',
  'Disconnecting does not cancel a request: the same Idempotency-Key returns the transcription for 24 hours, or 409 until there',
  'is one. The file is deleted when it is transcribed.',
].join(' ');

/** The fields of a form besides the recording, unchecked. */
interface AskedTranscription {
  language: string | undefined;
  prompt?: string | undefined;
}

/** Starts the transcription of a received recording, or finds the one that the same request started before. */
async function start(
  c: ApiContext,
  services: Services,
  scope: Scope,
  recording: Spooled,
  { language: asked, prompt }: AskedTranscription,
): Promise<CreatedJob> {
  // What an Idempotency-Key is held to: the file itself, and neither its name nor the form around it.
  c.set('body', {
    sha256: recording.sha256.toString('hex'),
    ...(asked !== undefined && { language: asked }),
    ...(prompt && { prompt }),
  });
  const idempotency = readIdempotency(c);
  const earlier = await voiceJob.findEarlier(scope, idempotency);
  if (earlier) return earlier;
  await enforceStorageLimit(scope);
  const { format, seconds } = await examineRecording(services, scope, recording.path);
  const language = languageOf(asked);
  requireVoice(services, scope);
  return createTranscription(services, scope, recording, {
    request: { format, seconds, ...(language !== undefined && { language }), ...(prompt && { prompt }) },
    price: transcriptionPrice(seconds),
    plan: c.get('caller').plan,
    idempotency,
    waiter: services.voiceWaiters.channel,
  });
}

/**
 * Receives a form with a recording and starts its transcription.
 * @param read what the other fields ask for
 * @throws AppError as `receiveRecording`, `createTranscription` and `read`
 */
export async function receiveAndStart(
  c: ApiContext,
  services: Services,
  open: OpenRequest,
  read: (fields: FormFields) => AskedTranscription,
): Promise<CreatedJob> {
  const { files, uploadSlots } = services;
  const scope = c.get('scope');
  const leave = await uploadSlots.enter(scope.tenant.organizationId);
  try {
    const received = await receiveRecording(c, files, open.signal);
    try {
      return await start(c, services, scope, received.recording, read(received.fields));
    } finally {
      await files.discard(received.recording);
    }
  } catch (error) {
    throw (open.signal.aborted && (await refusalOf(open, 'answer'))) || error;
  } finally {
    leave();
  }
}

export function transcriptionRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const documented = {
    method: 'post' as const,
    path: '/stt',
    operationId: 'createTranscription',
    'x-client-method': 'voice.transcribe',
    summary: 'Transcribe a recording',
    description,
    tags: ['Voice'],
    security: keySecurity('voice'),
    request: { headers: idempotencyHeader, body: { required: true, content: recordingForm } },
    responses: {
      200: paidAnswer('Returns the transcription.', transcriptionSchema, transcriptionExamples),
      ...voiceRefusals(402, 409, 413, 415, 422),
      ...voiceFailures,
    },
  };
  const routes = newRoutes();
  routes.openAPIRegistry.registerPath(documented);
  // The form is read as it arrives: the validator of a body would read all of it into memory first.
  const transcribe = createRoute({
    ...documented,
    hide: true,
    request: { headers: idempotencyHeader },
    middleware: [alsoForTokens(requireKeyFor(services, voiceLimits['operationsPerMinute.stt'], 'voice'))] as const,
  });
  routes.openapi(transcribe, async (c) => {
    const open = await services.openRequests.open(c.get('caller'), 'waitingRequests');
    try {
      const created = await receiveAndStart(c, services, open, ({ language }) => ({ language }));
      const call = await awaitCall(services, c.get('scope'), open, created);
      describeCall(c, call);
      return c.json(success(transcriptionRecord(call.transcript!)), 200) as never;
    } finally {
      open.close();
    }
  });
  return routes;
}
