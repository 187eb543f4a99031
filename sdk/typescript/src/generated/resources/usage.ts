// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Usage extends Resource {
  /**
   * Retrieve usage of the current month.
   *
   * Usage of the key's environment in the current UTC month. Runs and tokens are exact. Requests are counted
   * every five seconds, so those of the last seconds may be missing; a process that is killed loses them.
   */
  get(options?: RequestOptions): Promise<api.Usage> {
    return this.transport.call(sdk.getUsage, {}, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
