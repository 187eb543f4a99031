// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class StudioMusic extends Resource {
  /**
   * Generate music.
   *
   * Answers when the file is stored and charged. A second request with the same Idempotency-Key gets the first
   * answer again, failures included; while the first request is in progress it gets 409. Credits are reserved
   * before the work begins, and returned when it fails.
   */
  generate(body: NonNullable<api.GenerateMusicData['body']>, options?: RequestOptions): Promise<api.GeneratedMusic | api.ProcessingGeneration> {
    return this.transport.call(sdk.generateMusic, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
