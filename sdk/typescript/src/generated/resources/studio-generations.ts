// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class StudioGenerations extends Resource {
  /**
   * Retrieve a generation.
   *
   * Returns a generation of any type and status, failed ones included.
   */
  get(id: string, options?: RequestOptions): Promise<api.Generation> {
    return this.transport.call(sdk.getGeneration, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Delete a generation.
   *
   * Deletes a generation that has ended, and its file. A generation that has not ended is answered with 409
   * `conflict`.
   */
  delete(id: string, options?: RequestOptions): Promise<Data<api.DeleteGenerationResponse>> {
    return this.transport.call(sdk.deleteGeneration, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * List completed generations.
   *
   * Completed images, videos and music, newest first.
   */
  list(query?: api.ListGenerationsData['query'], options?: RequestOptions): List<Data<api.ListGenerationsResponse>['items'][number]> {
    return this.transport.list(sdk.listGenerations, { query }, 'items', options);
  }
}
