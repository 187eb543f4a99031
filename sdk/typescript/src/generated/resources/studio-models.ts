// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class StudioModels extends Resource {
  /**
   * List the models of Studio.
   *
   * Every accepted name, with its limits and its price.
   */
  get(options?: RequestOptions): Promise<api.MediaModels> {
    return this.transport.call(sdk.listMediaModels, {}, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
