// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class WebhooksDeliveriesContent extends Resource {
  /**
   * Remove the content of a delivery.
   *
   * Removes the body and the answers of the receiver for good. The log of the attempts stays. The delivery cannot
   * be replayed or resent afterwards, and `recover` skips it. All deliveries of an event share its body: the
   * others lose it too, as soon as none of them has attempts to come. Answered with 409 `conflict` while this
   * delivery has attempts to come.
   */
  delete(id: string, deliveryId: string, options?: RequestOptions): Promise<Data<api.ExpungeDeliveryContentResponse>> {
    return this.transport.call(sdk.expungeDeliveryContent, { path: { id, deliveryId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
