// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class OperationsHealth extends Resource {
  /**
   * Check liveness.
   *
   * `degraded` means that a dependency fails; restarting the process would not help.
   */
  get(query?: api.GetHealthData['query'], options?: RequestOptions): Promise<api.Health> {
    return this.transport.call(sdk.getHealth, { query }, { answer: 'json', isRepeatable: true }, options);
  }
}
