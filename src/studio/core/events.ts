import { defineEvent } from '../../platform/core/event-type.ts';
import { integer, number, object, oneOf, text, time } from '../../platform/core/json-schema.ts';
import { videoIds } from './ids.ts';
import { failureReasons, type GenerationError } from './status.ts';

/** A completed video. `videoId` is a UUID. The address was signed when the event was published, and ends as others do. */
export interface CompletedVideo {
  videoId: string;
  status: 'completed';
  url: string;
  /** Seconds of the file; its width and height are in pixels. */
  duration: number;
  width: number;
  height: number;
  creditsUsed: number;
}

export interface FailedVideo {
  videoId: string;
  status: 'failed';
  error: Pick<GenerationError, 'code' | 'message'>;
  /** ISO 8601. */
  failedAt: string;
}

/** The record that `GET generate-video` answers with. */
const videoData = <Facts extends { videoId: string }>({ videoId, ...rest }: Facts) => ({
  id: videoIds.format(videoId),
  ...rest,
});

const videoId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001';
const id = text('The video, as `vid_…`.');

export const videoCompleted = defineEvent({
  type: 'studio.video.completed',
  description: 'A video was completed.',
  since: '2026-11-22',
  data: videoData<CompletedVideo>,
  members: {
    id,
    status: oneOf(['completed']),
    url: { type: 'string', format: 'uri', description: 'The file. The address was signed when the event was written.' },
    duration: number('The length of the file in seconds.'),
    width: integer('Pixels.'),
    height: integer('Pixels.'),
    creditsUsed: integer(),
  },
  example: {
    videoId,
    status: 'completed',
    url: 'https://atelier.example.com/files/0199aaaabbbb7ccc8dddeeeeffff0001.mp4?expires=1795000000&signature=x7Qa',
    duration: 5,
    width: 1024,
    height: 576,
    creditsUsed: 25,
  },
});

export const videoFailed = defineEvent({
  type: 'studio.video.failed',
  description: 'A video failed. Its credits were returned.',
  since: '2026-11-22',
  data: videoData<FailedVideo>,
  members: {
    id,
    status: oneOf(['failed']),
    error: object<FailedVideo['error']>({ code: oneOf(failureReasons), message: text() }),
    failedAt: time(),
  },
  example: {
    videoId,
    status: 'failed',
    error: { code: 'content_policy', message: 'The provider refused the content.' },
    failedAt: '2026-11-20T09:31:30.000Z',
  },
});
