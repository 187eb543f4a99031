// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class RedirectUrls extends Resource {
  /**
   * List redirect addresses.
   *
   * Where users may be sent back after they connected an account, in the order in which they were added.
   */
  list(options?: RequestOptions): List<Data<api.ListRedirectUrlsResponse>['redirects'][number]> {
    return this.transport.list(sdk.listRedirectUrls, {}, 'redirects', options);
  }

  /**
   * Add a redirect address.
   *
   * Allows an address with any query. One that is there already stays once.
   */
  create(body: NonNullable<api.CreateRedirectUrlData['body']>, options?: RequestOptions): Promise<api.RedirectUrls> {
    return this.transport.call(sdk.createRedirectUrl, { body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Remove a redirect address.
   *
   * An address that is not there is none.
   */
  delete(query: api.DeleteRedirectUrlData['query'], options?: RequestOptions): Promise<Data<api.DeleteRedirectUrlResponse>> {
    return this.transport.call(sdk.deleteRedirectUrl, { query }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
