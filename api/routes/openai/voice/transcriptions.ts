import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import { voiceLimits } from '../../../../src/voice/core/limits.ts';
import type { ApiEnv } from '../../../context.ts';
import { requireKeyFor } from '../../../middleware/authenticate.ts';
import { keysAlone } from '../../../middleware/keys-alone.ts';
import { newRoutes } from '../../../new-routes.ts';
import { awaitCall, describeCall } from '../../voice/await-call.ts';
import { receiveAndStart } from '../../voice/transcription.ts';
import { transcriptionModels } from '../models.ts';
import { readStrictly } from '../read-body.ts';

/** The fields of the form besides the recording. */
const schema = z.strictObject({
  model: z.enum(transcriptionModels),
  language: z.string().max(100).optional(),
  prompt: z.string().max(1_000).optional(),
  response_format: z.enum(['json', 'text']).optional(),
  stream: z.literal('false').optional(),
});

export function transcriptionRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  const key = requireKeyFor(services, voiceLimits['operationsPerMinute.stt'], 'voice');
  routes.post('/audio/transcriptions', keysAlone, key, async (c) => {
    const open = await services.openRequests.open(c.get('caller'), 'waitingRequests');
    try {
      let format: string | undefined;
      const created = await receiveAndStart(c, services, open, (fields) => {
        const read = readStrictly(schema, fields);
        format = read.response_format;
        return { language: read.language, prompt: read.prompt };
      });
      const call = await awaitCall(services, c.get('scope'), open, created);
      describeCall(c, call);
      const { text, seconds } = call.transcript!;
      if (format === 'text') return c.text(`${text}\n`);
      return c.json({ text, usage: { type: 'duration', seconds: Math.ceil(seconds) } });
    } finally {
      open.close();
    }
  });
  return routes;
}
