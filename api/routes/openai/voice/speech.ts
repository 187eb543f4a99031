import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { invalid } from '../../../../src/platform/errors.ts';
import { voices } from '../../../../src/providers/core/speech/voices.ts';
import type { Services } from '../../../../src/services.ts';
import { voiceLimits } from '../../../../src/voice/core/limits.ts';
import { problemsOfSpeech, readSpeech } from '../../../../src/voice/speech-request.ts';
import type { ApiEnv } from '../../../context.ts';
import { readIdempotency } from '../../../idempotency.ts';
import { requireKeyFor } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { keysAlone } from '../../../middleware/keys-alone.ts';
import { newRoutes } from '../../../new-routes.ts';
import { describeCall } from '../../voice/await-call.ts';
import { sendSpeech, speakAndWait } from '../../voice/speech.ts';
import { speechModels } from '../models.ts';
import { readBody } from '../read-body.ts';
import { bookkeeping } from '../shared-fields.ts';

const schema = z.strictObject({
  model: z.enum(speechModels),
  input: z.string(),
  voice: z.enum(voices),
  speed: z.number().nullish(),
  response_format: z.literal('mp3').nullish(),
  stream_format: z.literal('audio').nullish(),
  user: bookkeeping.user,
});

/** The name under which each of our fields is known here. */
const names: Record<string, string> = { text: 'input' };

export function speechRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  const key = requireKeyFor(services, voiceLimits['operationsPerMinute.tts'], 'voice');
  routes.post('/audio/speech', keysAlone, key, jsonBody(), async (c) => {
    const { input: text, voice, speed } = readBody(c, schema);
    const spoken = { text, voice, speed: speed ?? undefined };
    const problems = problemsOfSpeech(spoken);
    if (problems.length > 0)
      throw invalid(problems.map(({ path, message }) => ({ path: names[path] ?? path, message })));
    const { plan } = c.get('caller');
    const idempotency = readIdempotency(c);
    const open = await services.openRequests.open(c.get('caller'), 'waitingRequests');
    try {
      const request = readSpeech(spoken);
      const call = await speakAndWait(services, c.get('scope'), { request, plan, idempotency, open });
      describeCall(c, call);
      return await sendSpeech(c, services, call.file!);
    } finally {
      open.close();
    }
  });
  return routes;
}
