// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Search extends Resource {
  /**
   * Search.
   *
   * Finds resources with this id or correlation id, workflows and event types with this text in their names, and
   * bookings of attendees with this address. Returns at most 20 hits; hits by id come first. A kind of resource
   * is searched only with the scope that reads it.
   */
  list(query: api.SearchData['query'], options?: RequestOptions): List<Data<api.SearchResponse>['hits'][number]> {
    return this.transport.list(sdk.search, { query }, 'hits', options);
  }
}
