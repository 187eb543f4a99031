import { z } from '@hono/zod-openapi';
import { estimatedSeconds, progressOf } from '../../../src/studio/core/progress.ts';
import { failureReasons } from '../../../src/studio/core/status.ts';
import { completedVideoRecord, idOf, type Sign } from '../../../src/studio/generation-records.ts';
import type { GenerationDetail } from '../../../src/studio/generations.ts';
import { exampleAddress, videoId } from './examples.ts';
import { url } from './records.ts';

const id = z.string();

export const startedVideoSchema = z
  .object({
    id,
    status: z.literal('processing'),
    estimatedTime: z.int().min(1).openapi({ description: 'How long such a video usually takes, in seconds.' }),
  })
  .openapi('StartedVideo');

const completed = z
  .object({
    id,
    status: z.literal('completed'),
    url,
    duration: z.number().openapi({ description: 'The length of the file in seconds.' }),
    width: z.int(),
    height: z.int(),
    creditsUsed: z.int(),
  })
  .openapi('CompletedVideo');

const failed = z
  .object({
    id,
    status: z.literal('failed'),
    error: z.object({ code: z.enum(failureReasons), message: z.string() }),
    failedAt: z.string().openapi({ format: 'date-time' }),
  })
  .openapi('FailedVideo');

export const videoSchema = z
  .union([
    z
      .object({
        id,
        status: z.literal('processing'),
        progress: z.int().min(0).max(99).openapi({ description: 'The progress in percent. It never falls.' }),
      })
      .openapi('ProcessingVideo'),
    completed,
    failed,
    z.object({ id, status: z.literal('cancelled') }).openapi('CancelledVideo'),
  ])
  .openapi('Video', { description: 'A video in one of these states, which `status` names.' });

/**
 * A video that was started. It stays the same for a request with the same Idempotency-Key.
 * @param deadlineMs no video takes longer: it fails then
 */
export const startedVideo = (video: GenerationDetail, deadlineMs: number): z.infer<typeof startedVideoSchema> => ({
  id: idOf(video),
  status: 'processing',
  estimatedTime: estimatedSeconds(Math.min(video.expectedMs ?? 0, deadlineMs)),
});

export function videoRecord(video: GenerationDetail, sign: Sign): z.infer<typeof videoSchema> {
  const { status, error, finishedAt } = video;
  const id = idOf(video);
  switch (status) {
    case 'processing':
      return { id, status, progress: progressOf(video) };
    case 'completed':
      return completedVideoRecord(video, sign);
    case 'failed':
      return { id, status, error: error!, failedAt: finishedAt!.toISOString() };
    case 'cancelled':
      return { id, status };
  }
}

const size = { width: 1024, height: 576 };
const done = { url: exampleAddress('mp4'), duration: 5, ...size, creditsUsed: 25 };
const refused = { code: 'content_policy' as const, message: 'The provider refused the content.' };
const failedAt = '2026-11-20T09:31:30.000Z';

export const startedVideoExamples = { started: { id: videoId, status: 'processing' as const, estimatedTime: 90 } };
export const videoExamples = {
  processing: { id: videoId, status: 'processing' as const, progress: 40 },
  completed: { id: videoId, status: 'completed' as const, ...done },
  failed: { id: videoId, status: 'failed' as const, error: refused, failedAt },
  cancelled: { id: videoId, status: 'cancelled' as const },
};
export const cancelledVideoExamples = { cancelled: videoExamples.cancelled, completed: videoExamples.completed };
