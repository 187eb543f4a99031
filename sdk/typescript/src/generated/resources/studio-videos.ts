// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class StudioVideos extends Resource {
  /**
   * Retrieve a video.
   *
   * Returns the status of the video, and its URL once it is completed.
   */
  get(query: api.GetVideoData['query'], options?: RequestOptions): Promise<api.Video> {
    return this.transport.call(sdk.getVideo, { query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Start a video.
   *
   * Answers at once, or with an image once it is fetched. Poll the video with `GET generate-video?id=`, or
   * subscribe a webhook to `studio.video.completed` and `studio.video.failed`. Credits are reserved before the
   * work begins, and returned when it fails or is cancelled.
   */
  generate(body: NonNullable<api.GenerateVideoData['body']>, options?: RequestOptions): Promise<api.StartedVideo> {
    return this.transport.call(sdk.generateVideo, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Cancel a video.
   *
   * The credits are returned at once, and the provider is notified. A video that has ended stays as it is and is
   * returned.
   */
  cancel(id: string, options?: RequestOptions): Promise<api.Video> {
    return this.transport.call(sdk.cancelVideo, { path: { id } }, { answer: 'json', isEnveloped: true }, options);
  }
}
