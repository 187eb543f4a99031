// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Limits extends Resource {
  /**
   * Retrieve the limits of the plan.
   *
   * The limits of the plan, by the names that refusals use, and how much of each is used. `used` is null where
   * nothing is counted. Counts end at 100,000. `keys` counts the usable keys of both environments. Credits and
   * waiting deliveries lag by some seconds.
   */
  get(options?: RequestOptions): Promise<api.PlanLimits> {
    return this.transport.call(sdk.getLimits, {}, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
