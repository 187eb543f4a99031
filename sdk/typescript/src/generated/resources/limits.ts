// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Limits extends Resource {
  /**
   * Retrieve the limits of the plan.
   *
   * What the plan of the organization includes, by the names that refusals use, and how much of it is used.
   * `used` is null for a number that nothing is counted against. Of what exists at most 100,000 are counted.
   * `keys` counts those of both environments that can be used. Credits and waiting deliveries lag by some
   * seconds.
   */
  get(options?: RequestOptions): Promise<api.PlanLimits> {
    return this.transport.call(sdk.getLimits, {}, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
