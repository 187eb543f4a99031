// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Key extends Resource {
  /**
   * Verify an API key.
   *
   * Returns the organization and plan of the key. Every valid key may call it.
   */
  get(options?: RequestOptions): Promise<api.KeyStatus> {
    return this.transport.call(sdk.verifyKey, {}, { answer: 'json', isRepeatable: true }, options);
  }
}
