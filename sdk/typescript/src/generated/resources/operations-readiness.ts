// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class OperationsReadiness extends Resource {
  /**
   * Check readiness.
   *
   * Answers within about a second, even when a dependency does not respond.
   */
  get(options?: RequestOptions): Promise<api.Readiness> {
    return this.transport.call(sdk.getReadiness, {}, { answer: 'json', isRepeatable: true }, options);
  }
}
