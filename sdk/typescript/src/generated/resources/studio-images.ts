// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class StudioImages extends Resource {
  /**
   * Generate an image.
   *
   * Answers when the file is stored and charged. A second request with the same Idempotency-Key gets the first
   * answer again, failures included; while the first request is in progress it gets 409. Credits are reserved
   * before the work begins, and returned when it fails.
   */
  generate(body: NonNullable<api.GenerateImageData['body']>, options?: RequestOptions): Promise<api.GeneratedImage | api.ProcessingGeneration> {
    return this.transport.call(sdk.generateImage, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Enlarge an image.
   *
   * Answers when the file is stored and charged. A second request with the same Idempotency-Key gets the first
   * answer again, failures included; while the first request is in progress it gets 409. Credits are reserved
   * before the work begins, and returned when it fails.
   */
  upscale(body: NonNullable<api.UpscaleImageData['body']>, options?: RequestOptions): Promise<api.UpscaledImage | api.ProcessingGeneration> {
    return this.transport.call(sdk.upscaleImage, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Remove the background of an image.
   *
   * Answers when the file is stored and charged. A second request with the same Idempotency-Key gets the first
   * answer again, failures included; while the first request is in progress it gets 409. Credits are reserved
   * before the work begins, and returned when it fails.
   */
  removeBackground(body: NonNullable<api.RemoveBackgroundData['body']>, options?: RequestOptions): Promise<api.ImageWithoutBackground | api.ProcessingGeneration> {
    return this.transport.call(sdk.removeBackground, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
