// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class OperationsVersion extends Resource {
  /**
   * Retrieve the deployed version.
   *
   * Depends on nothing else, so it answers even when the database is down.
   */
  get(options?: RequestOptions): Promise<api.Version> {
    return this.transport.call(sdk.getVersion, {}, { answer: 'json', isRepeatable: true }, options);
  }
}
