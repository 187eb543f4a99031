import type { OpenAPIHono } from '@hono/zod-openapi';
import { createMiddleware } from 'hono/factory';
import { isJsonObject } from '../../../src/platform/core/json-shapes.ts';
import type { IdempotencyClaim } from '../../../src/platform/database/idempotency.ts';
import type { Scope } from '../../../src/platform/database/scope.ts';
import { unavailable } from '../../../src/platform/errors.ts';
import type { SpeechRequest } from '../../../src/providers/speech/voice-ports.ts';
import type { Services } from '../../../src/services.ts';
import type { PlanName } from '../../../src/tenancy/core/plans.ts';
import type { OpenRequest } from '../../../src/tenancy/open-requests.ts';
import { voiceLimits } from '../../../src/voice/core/limits.ts';
import { createCall } from '../../../src/voice/create-call.ts';
import { callGone } from '../../../src/voice/errors.ts';
import { voiceJob } from '../../../src/voice/job.ts';
import { requireVoice } from '../../../src/voice/require-voice.ts';
import { checkSpeech, priceOfSpeech, readSpeech } from '../../../src/voice/speech-request.ts';
import { closeWhenLeft } from '../../connection/close-when-left.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { readIdempotency } from '../../idempotency.ts';
import { alsoForTokens, requireKeyFor } from '../../middleware/authenticate.ts';
import { newRoutes } from '../../new-routes.ts';
import { operationsOf } from '../../operation.ts';
import { limitedRange } from '../../requests/client-address.ts';
import { jsonContent, soundAnswer } from '../../schemas/answers.ts';
import { speechExamples, speechSchema } from '../../schemas/voice/speech.ts';
import { awaitCall, describeCall, type EndedCall } from './await-call.ts';
import { voiceFailures, voiceRefusals } from './failures.ts';

const description = [
  'Costs 1 credit for each started 1,000 characters, which are code points. A failure costs nothing.',
  'Messages of 400, in the order of the checks: `Text is required`, `Text too long`, `Invalid voice`, `Invalid speed`.',
  'Disconnecting does not cancel a request: the same Idempotency-Key returns the speech for 24 hours, or 409 until there is one.',
].join(' ');

const checked = createMiddleware<ApiEnv>(async (c, next) => {
  const body = c.get('body');
  if (isJsonObject(body)) checkSpeech(body);
  await next();
});

/** Answers with the whole file. A reader that reads hardly anything is disconnected, as with every file. */
export async function sendSpeech(c: ApiContext, { files, downloads }: Services, name: string): Promise<Response> {
  const file = await files.find(name);
  if (!file) throw callGone();
  const { outgoing } = c.env;
  const download = await downloads.open(file, undefined, {
    address: limitedRange(c.get('clientAddress')()),
    abort: () => outgoing.destroy(),
  });
  if (!download) throw unavailable('The file storage');
  closeWhenLeft(outgoing, download);
  return c.body(download.body, 200, {
    'Content-Type': file.contentType,
    'Content-Disposition': 'attachment; filename="speech.mp3"',
    'Content-Length': String(file.bytes),
  });
}

interface AskedSpeech {
  request: SpeechRequest;
  plan: PlanName;
  idempotency: IdempotencyClaim | undefined;
  open: OpenRequest;
}

/**
 * Makes a speech, or finds the one that the same request made before, and waits for it. @throws AppError as `awaitCall`
 */
export async function speakAndWait(
  services: Services,
  scope: Scope,
  { request, plan, idempotency, open }: AskedSpeech,
): Promise<EndedCall> {
  let created = await voiceJob.findEarlier(scope, idempotency);
  if (!created) {
    requireVoice(services, scope);
    created = await createCall(services, scope, {
      kind: 'tts',
      request,
      price: priceOfSpeech(request),
      plan,
      idempotency,
      waiter: services.voiceWaiters.channel,
    });
  }
  return awaitCall(services, scope, open, created);
}

export function speechRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({
    tag: 'Voice',
    key: alsoForTokens(requireKeyFor(services, voiceLimits['operationsPerMinute.tts'], 'voice')),
    failuresOf: voiceRefusals,
  });
  const speak = operation({
    method: 'post',
    path: '/tts',
    operationId: 'createSpeech',
    'x-client-method': 'voice.speak',
    summary: 'Turn text into speech',
    description,
    body: jsonContent(speechSchema, speechExamples),
    idempotent: true,
    checks: [checked],
    answers: { 200: soundAnswer('Returns the speech as an MP3 file.'), ...voiceFailures },
    failures: [402, 409],
  });
  const routes = newRoutes();
  routes.openapi(speak, async (c) => {
    const request = readSpeech(c.req.valid('json'));
    const { plan } = c.get('caller');
    const idempotency = readIdempotency(c);
    const open = await services.openRequests.open(c.get('caller'), 'waitingRequests');
    try {
      const call = await speakAndWait(services, c.get('scope'), { request, plan, idempotency, open });
      describeCall(c, call);
      return (await sendSpeech(c, services, call.file!)) as never;
    } finally {
      open.close();
    }
  });
  return routes;
}
