import type { OpenAPIHono, z } from '@hono/zod-openapi';
import type { GenerationRequest } from '../../../src/providers/core/media/requests.ts';
import type { Services } from '../../../src/services.ts';
import {
  cutOutRecord,
  imageRecord,
  musicRecord,
  type Sign,
  upscaleRecord,
} from '../../../src/studio/generation-records.ts';
import type { GenerationDetail } from '../../../src/studio/generations.ts';
import type { ApiEnv } from '../../context.ts';
import { success } from '../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../idempotency.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { newRoutes } from '../../new-routes.ts';
import { operationsOf } from '../../operation.ts';
import { answer, type Examples, jsonContent } from '../../schemas/answers.ts';
import {
  cutOutExamples,
  imageExamples,
  musicRecordExamples,
  processingExamples,
  upscaleRecordExamples,
} from '../../schemas/studio/examples.ts';
import { generationFailure, imageFailure } from '../../schemas/studio/failures.ts';
import {
  cutOutSchema,
  imageSchema,
  musicSchema,
  processingSchema,
  upscaleRecordSchema,
} from '../../schemas/studio/records.ts';
import {
  generateExamples,
  generateMusicSchema,
  generateSchema,
  musicExamples,
  readBackgroundRemovalRequest,
  readImageRequest,
  readMusicRequest,
  readUpscaleRequest,
  removeBackgroundExamples,
  removeBackgroundSchema,
  upscaleExamples,
  upscaleSchema,
} from '../../schemas/studio/requests.ts';
import { makeAndWait } from './make-and-wait.ts';
import { refuseBody } from './refuse-body.ts';

const waits =
  'Answers when the file is stored and charged. A second request with the same Idempotency-Key gets the first answer again, failures included; while the first request is in progress it gets 409. Credits are reserved before the work begins, and returned when it fails.';

const withThisGeneration = { id: '$response.body#/data/id' };
const links = {
  Get: { operationId: 'getGeneration', parameters: withThisGeneration },
  Delete: { operationId: 'deleteGeneration', parameters: withThisGeneration },
};

const unfinished = answer(
  'The generation did not finish within the time that the API waits, and continues: retrieve it at `generations/{id}`.',
  processingSchema,
  { examples: processingExamples, links, replayable: true },
);

/** A route that makes one kind of generation and answers when it is finished. */
interface GenerationRoute<Body extends z.ZodType, Record extends z.ZodType> {
  path: string;
  operationId: string;
  'x-client-method': string;
  summary: string;
  body: { schema: Body; examples: Examples<z.input<Body>> };
  answer: { description: string; schema: Record; examples: Examples<z.input<Record>> };
  /** Whether the body names an image: problems of the image are found later, and refused as such. */
  takesImage?: boolean;
  /** The kind of model, for bodies that name one. */
  kind?: 'image' | 'music';
  /** Fills in the defaults. */
  read(body: z.output<Body>): { request: GenerationRequest; imageUrl?: string };
  /** The answer's data, of a completed generation. */
  record(generation: GenerationDetail, sign: Sign): z.input<Record>;
}

/** Adds the route to `routes`. These routes differ in their requests and answers alone. */
function addGenerationRoute<Body extends z.ZodType, Record extends z.ZodType>(
  routes: OpenAPIHono<ApiEnv>,
  services: Services,
  given: GenerationRoute<Body, Record>,
): void {
  const { path, operationId, summary, body, answer: made, takesImage, kind, read, record } = given;
  const operation = operationsOf({ tag: 'Studio', key: requireKey(services, 'studio'), hasDialects: false });

  const route = operation({
    method: 'post' as const,
    path,
    operationId,
    'x-client-method': given['x-client-method'],
    summary,
    description: waits,
    body: jsonContent(body.schema, body.examples),
    idempotent: true,
    answers: {
      200: answer(made.description, made.schema, { examples: made.examples, links, replayable: true }),
      202: unfinished,
      ...(takesImage && { 400: imageFailure }),
      500: generationFailure,
    },
    failures: [402, 409],
  });
  const sign = (file: string) => services.signedUrls.sign(file);
  routes.openapi(
    route,
    (async (c) => {
      // The compiler cannot see through a schema that is a parameter.
      const { request, imageUrl = null } = read(c.req.valid('json' as never) as z.output<Body>);
      const call = { caller: c.get('caller'), request, imageUrl, idempotency: readIdempotency(c) };
      const result = await makeAndWait(services, c.get('scope'), call);
      markReplayed(c, result.replayed);
      if (result.kind === 'failed') throw result.failure;
      if (result.kind === 'unfinished') return c.json(success({ id: result.id, status: 'processing' as const }), 202);
      return c.json(success(record(result.generation, sign)), 200);
    }) as Parameters<typeof routes.openapi<typeof route>>[1],
    ...(kind ? [refuseBody(services.media, kind) as never] : []),
  );
}

/** The generations that are answered when they are finished. */
export function generateRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  addGenerationRoute(routes, services, {
    path: '/generate',
    operationId: 'generateImage',
    'x-client-method': 'studio.images.generate',
    summary: 'Generate an image',
    body: { schema: generateSchema, examples: generateExamples },
    answer: { description: 'Returns the image.', schema: imageSchema, examples: imageExamples },
    kind: 'image',
    read: (body) => ({ request: readImageRequest(body) }),
    record: imageRecord,
  });
  addGenerationRoute(routes, services, {
    path: '/upscale',
    operationId: 'upscaleImage',
    'x-client-method': 'studio.images.upscale',
    summary: 'Enlarge an image',
    body: { schema: upscaleSchema, examples: upscaleExamples },
    answer: {
      description: 'Returns the enlarged image, a PNG.',
      schema: upscaleRecordSchema,
      examples: upscaleRecordExamples,
    },
    takesImage: true,
    read: (body) => ({ request: readUpscaleRequest(body), imageUrl: body.imageUrl }),
    record: upscaleRecord,
  });
  addGenerationRoute(routes, services, {
    path: '/remove-bg',
    operationId: 'removeBackground',
    'x-client-method': 'studio.images.removeBackground',
    summary: 'Remove the background of an image',
    body: { schema: removeBackgroundSchema, examples: removeBackgroundExamples },
    answer: { description: 'Returns the image, a PNG.', schema: cutOutSchema, examples: cutOutExamples },
    takesImage: true,
    read: ({ imageUrl }) => ({ request: readBackgroundRemovalRequest(), imageUrl }),
    record: cutOutRecord,
  });
  addGenerationRoute(routes, services, {
    path: '/generate-music',
    operationId: 'generateMusic',
    'x-client-method': 'studio.music.generate',
    summary: 'Generate music',
    body: { schema: generateMusicSchema, examples: musicExamples },
    answer: { description: 'Returns the music.', schema: musicSchema, examples: musicRecordExamples },
    kind: 'music',
    read: (body) => ({ request: readMusicRequest(body) }),
    record: musicRecord,
  });
  return routes;
}
