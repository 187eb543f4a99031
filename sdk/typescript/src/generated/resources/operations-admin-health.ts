// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class OperationsAdminHealth extends Resource {
  /**
   * Inspect the service.
   *
   * Returns the state and latency of each dependency, the depth of the outbox, and the running versions.
   */
  get(options?: RequestOptions): Promise<api.AdminHealth> {
    return this.transport.call(sdk.getAdminHealth, {}, { answer: 'json', isRepeatable: true }, options);
  }

  /**
   * Inspect the service.
   *
   * Returns the state and latency of each dependency, the depth of the outbox, and the running versions.
   */
  check(options?: RequestOptions): Promise<api.AdminHealth> {
    return this.transport.call(sdk.postAdminHealth, {}, { answer: 'json' }, options);
  }
}
