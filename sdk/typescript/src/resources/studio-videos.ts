import { poll, type WaitOptions, withinTime } from '../core/waiting.ts';
import type { ProcessingVideo, Video } from '../generated/api/types.gen.ts';
import { StudioVideos as GeneratedStudioVideos } from '../generated/resources/studio-videos.ts';

export class StudioVideos extends GeneratedStudioVideos {
  /** Wait until a video is completed, has failed or was cancelled, and return it. */
  async wait(id: string, options: WaitOptions = {}): Promise<Exclude<Video, ProcessingVideo>> {
    const video = await withinTime(options, (signal) =>
      poll(
        () => this.get({ id }, { signal }),
        ({ status }) => status !== 'processing',
        signal,
      ),
    );
    return video as Exclude<Video, ProcessingVideo>;
  }
}
