// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Models extends Resource {
  /**
   * List the text models.
   *
   * The names of all models that workflows, chat and agents accept. The models of Studio are at
   * `/api/studio/models`.
   */
  list(options?: RequestOptions): List<Data<api.ListModelsResponse>['models'][number]> {
    return this.transport.list(sdk.listModels, {}, 'models', options);
  }
}
