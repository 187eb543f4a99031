import { defineEvent } from '../../platform/core/event-type.ts';
import { videoIds } from './ids.ts';
import type { GenerationError } from './status.ts';

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
  error: GenerationError;
  /** ISO 8601. */
  failedAt: string;
}

/** The record that `GET generate-video` answers with. */
const videoData = <Facts extends { videoId: string }>({ videoId, ...rest }: Facts) => ({
  id: videoIds.format(videoId),
  ...rest,
});

export const videoCompleted = defineEvent('studio.video.completed', (facts: CompletedVideo) => videoData(facts));
export const videoFailed = defineEvent('studio.video.failed', (facts: FailedVideo) => videoData(facts));
