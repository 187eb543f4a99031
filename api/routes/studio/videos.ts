import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Services } from '../../../src/services.ts';
import { cancelVideo } from '../../../src/studio/cancel-generation.ts';
import { getVideo } from '../../../src/studio/generations.ts';
import type { ApiEnv } from '../../context.ts';
import { success } from '../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../idempotency.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { newRoutes } from '../../new-routes.ts';
import { operationsOf } from '../../operation.ts';
import { answer, jsonContent } from '../../schemas/answers.ts';
import { prefixedIdInPath } from '../../schemas/ids.ts';
import { videoId } from '../../schemas/studio/examples.ts';
import { imageFailure } from '../../schemas/studio/failures.ts';
import { generateVideoSchema, readVideoRequest, videoExamples as requests } from '../../schemas/studio/requests.ts';
import {
  cancelledVideoExamples,
  startedVideo,
  startedVideoExamples,
  startedVideoSchema,
  videoExamples,
  videoRecord,
  videoSchema,
} from '../../schemas/studio/videos.ts';
import { startVideo } from './make-and-wait.ts';
import { refuseBody } from './refuse-body.ts';

const idQuery = z.object({
  id: z
    .string()
    .min(1)
    .openapi({
      param: { name: 'id', in: 'query', example: videoId },
      description: 'The prefixed id. Its UUID is accepted too.',
    }),
});

const id = '$response.body#/data/id';
const links = {
  getVideo: { operationId: 'getVideo', parameters: { id } },
  cancelVideo: { operationId: 'cancelVideo', parameters: { id } },
};

/** Videos take minutes: they are started, and then polled. */
export function videoRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Studio', key: requireKey(services, 'studio'), hasDialects: false });

  const start = operation({
    method: 'post',
    path: '/generate-video',
    operationId: 'generateVideo',
    'x-client-method': 'studio.videos.generate',
    summary: 'Start a video',
    description:
      'Answers at once, or with an image once it is fetched. Poll the video with `GET generate-video?id=`, or subscribe a webhook to `studio.video.completed` and `studio.video.failed`. Credits are reserved before the work begins, and returned when it fails or is cancelled.',
    body: jsonContent(generateVideoSchema, requests),
    idempotent: true,
    answers: {
      200: answer('The video was started.', startedVideoSchema, {
        examples: startedVideoExamples,
        links,
        replayable: true,
      }),
      400: imageFailure,
    },
    failures: [402, 409],
  });
  const get = operation({
    method: 'get',
    path: '/generate-video',
    operationId: 'getVideo',
    'x-client-method': 'studio.videos.get',
    summary: 'Retrieve a video',
    description: 'Returns the status of the video, and its URL once it is completed.',
    query: idQuery,
    answers: {
      200: answer('Returns the video.', videoSchema, { examples: videoExamples }),
    },
    failures: [404],
  });
  const cancel = operation({
    method: 'post',
    path: '/generate-video/{id}/cancel',
    operationId: 'cancelVideo',
    'x-client-method': 'studio.videos.cancel',
    summary: 'Cancel a video',
    description:
      'The credits are returned at once, and the provider is notified. A video that has ended stays as it is and is returned.',
    params: prefixedIdInPath('id', videoId),
    answers: {
      200: answer('Returns the video.', videoSchema, { examples: cancelledVideoExamples }),
    },
  });

  const sign = (file: string) => services.signedUrls.sign(file);
  const routes = newRoutes();
  routes.openapi(
    start,
    async (c) => {
      const scope = c.get('scope');
      const { imageUrl = null, ...body } = c.req.valid('json');
      const call = { caller: c.get('caller'), imageUrl, idempotency: readIdempotency(c) };
      const { replayed, video } = await startVideo(services, scope, { ...call, request: readVideoRequest(body) });
      markReplayed(c, replayed);
      return c.json(success(startedVideo(video, services.generationPolicy.deadlineMs.video)), 200);
    },
    refuseBody(services.media, 'video') as never,
  );
  routes.openapi(get, async (c) => {
    const scope = c.get('scope');
    const video = await getVideo(scope, c.req.valid('query').id);
    services.generationWatch.seen(scope, video);
    return c.json(success(videoRecord(video, sign)), 200);
  });
  routes.openapi(cancel, async (c) => {
    const video = await cancelVideo(services, c.get('scope'), c.req.valid('param').id);
    return c.json(success(videoRecord(video, sign)), 200);
  });
  return routes;
}
