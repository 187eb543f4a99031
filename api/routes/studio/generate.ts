import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../src/services.ts';
import { cutOutRecord, imageRecord, musicRecord, upscaleRecord } from '../../../src/studio/generation-records.ts';
import type { ApiEnv } from '../../context.ts';
import { newRoutes } from '../../new-routes.ts';
import {
  cutOutExamples,
  imageExamples,
  musicRecordExamples,
  upscaleRecordExamples,
} from '../../schemas/studio/examples.ts';
import { cutOutSchema, imageSchema, musicSchema, upscaleRecordSchema } from '../../schemas/studio/records.ts';
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
import { addGenerationRoute } from './generation-route.ts';

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
