import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { PromptedRequest } from '../../../src/providers/core/media/requests.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { success } from '../../envelopes.ts';
import { idempotencyHeader, markReplayed, readIdempotency } from '../../idempotency.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { jsonBody } from '../../middleware/json-body.ts';
import { newRoutes } from '../../new-routes.ts';
import { answer, generationFailure, jsonContent, keySecurity, scopedFailures } from '../../schemas/answers.ts';
import { imageExamples, musicRecordExamples, processingExamples } from '../../schemas/studio/examples.ts';
import { imageRecord, imageSchema, musicRecord, musicSchema, processingSchema } from '../../schemas/studio/records.ts';
import {
  generateExamples,
  generateMusicSchema,
  generateSchema,
  musicExamples,
  readImageRequest,
  readMusicRequest,
} from '../../schemas/studio/requests.ts';
import { makeAndWait } from './make-and-wait.ts';

const waits =
  'Answers when the file is stored and paid for. A second request with the same Idempotency-Key gets the first answer again, failures included; while the first is in progress it gets 409. Credits are reserved before the work begins, and given back when it fails.';

const links = { getGeneration: { operationId: 'getGeneration', parameters: { id: '$response.body#/data/id' } } };

const unfinished = answer(
  'It did not finish within the time the API waits, and is still being made: read it at `generations/{id}`.',
  processingSchema,
  { examples: processingExamples, links, replayable: true },
);

export function generateRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const shared = { method: 'post' as const, tags: ['Studio'], security: keySecurity('studio') };
  const failing = { ...scopedFailures(402, 409, 413, 415, 422), 500: generationFailure };

  const image = createRoute({
    ...shared,
    middleware: [requireKey(services, 'studio'), jsonBody()] as const,
    path: '/generate',
    operationId: 'generateImage',
    summary: 'Generate an image',
    description: waits,
    request: { headers: idempotencyHeader, body: { content: jsonContent(generateSchema, generateExamples) } },
    responses: {
      200: answer('Returns the image.', imageSchema, { examples: imageExamples, links, replayable: true }),
      202: unfinished,
      ...failing,
    },
  });
  const music = createRoute({
    ...shared,
    middleware: [requireKey(services, 'studio'), jsonBody()] as const,
    path: '/generate-music',
    operationId: 'generateMusic',
    summary: 'Generate music',
    description: waits,
    request: { headers: idempotencyHeader, body: { content: jsonContent(generateMusicSchema, musicExamples) } },
    responses: {
      200: answer('Returns the music.', musicSchema, { examples: musicRecordExamples, links, replayable: true }),
      202: unfinished,
      ...failing,
    },
  });

  const make = async (c: ApiContext, request: PromptedRequest) => {
    const call = { caller: c.get('caller'), request, idempotency: readIdempotency(c) };
    const result = await makeAndWait(services, c.get('scope'), call);
    markReplayed(c, result.replayed);
    if (result.kind === 'failed') throw result.failure;
    return result;
  };
  const sign = (file: string) => services.signedUrls.sign(file);

  const routes = newRoutes();
  routes.openapi(image, async (c) => {
    const result = await make(c, readImageRequest(c.req.valid('json')));
    if (result.kind === 'unfinished') return c.json(success({ id: result.id, status: 'processing' as const }), 202);
    return c.json(success(imageRecord(result.generation, sign)), 200);
  });
  routes.openapi(music, async (c) => {
    const result = await make(c, readMusicRequest(c.req.valid('json')));
    if (result.kind === 'unfinished') return c.json(success({ id: result.id, status: 'processing' as const }), 202);
    return c.json(success(musicRecord(result.generation, sign)), 200);
  });
  return routes;
}
