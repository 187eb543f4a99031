// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class StudioPrompts extends Resource {
  /**
   * Improve a prompt.
   *
   * A text model describes the same subject in more detail. It is free.
   */
  enhance(body: NonNullable<api.EnhancePromptData['body']>, options?: RequestOptions): Promise<api.EnhancedPrompt> {
    return this.transport.call(sdk.enhancePrompt, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
