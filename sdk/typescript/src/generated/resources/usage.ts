// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Usage extends Resource {
  /**
   * Retrieve usage.
   *
   * Usage of the key's environment, in the current UTC month unless `from` or `to` say otherwise. Runs, tokens
   * and credits of the current month are exact. Requests, other times and `groups` are counted every five
   * seconds, so the last seconds may be missing; a process that is killed loses them. Days are kept for 400 days,
   * and hours and errors for 31 days. A longer time is answered with 400.
   */
  get(query?: api.GetUsageData['query'], options?: RequestOptions): Promise<api.Usage> {
    return this.transport.call(sdk.getUsage, { query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
